/* version_agreement.h: makes a majority of a quorum know a version before a client gets it.
 * Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_VERSION_AGREEMENT_H
#define BATON_LOCKS_QUORUM_VERSION_AGREEMENT_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

/* Every later majority shares a member with this one, so the version that clients see never falls.
 */

typedef void version_agree_done(void *context, bool is_known);

/* `known` is the version that each member is known to have, 0 if unknown. Copies the key. `done`
 * runs once: from the loop, and only while the store closes before this returns. `is_known` is
 * false if too few members answered. */
void version_agree(struct locks *locks, struct slice key, const int64_t known[TALLY_MEMBERS],
                   int64_t version, version_agree_done *done, void *context);

/* The same with the versions that members reported in `tally`. */
void version_agree_tally(struct locks *locks, struct slice key, const struct tally *tally,
                         int64_t version, version_agree_done *done, void *context);

#endif
