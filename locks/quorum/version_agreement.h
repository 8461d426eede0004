/* version_agreement.h: makes a majority of a quorum know a version before a client is told of it.
 * Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_VERSION_AGREEMENT_H
#define BATON_LOCKS_QUORUM_VERSION_AGREEMENT_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

/* Every later majority shares a member with this one, so the version that clients see never falls.
 */

typedef void version_agree_done(void *context, bool is_known);

/* `known` is what each member is known to have, 0 where that is not known. The key is copied.
 * `done` runs once, from the loop and never before this has returned; not `is_known` where too few
 * members have answered. */
void version_agree(struct locks *locks, struct slice key, const int64_t known[TALLY_MEMBERS],
                   int64_t version, version_agree_done *done, void *context);

/* The same where the members have told of it in `tally`. */
void version_agree_tally(struct locks *locks, struct slice key, const struct tally *tally,
                         int64_t version, version_agree_done *done, void *context);

#endif
