/* fence_agreement.h: makes a majority of a quorum agree on one fence for a hold that each granted
 * by a number of its own. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_FENCE_AGREEMENT_H
#define BATON_LOCKS_QUORUM_FENCE_AGREEMENT_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

/* `fence` 0: no majority could be brought to one. Of `tally` only those are left as holds that
 * have it by this fence: another one may have lost it since it was asked first. Valid during the
 * call.
 */
typedef void fence_agree_done(void *context, int64_t fence, const struct tally *tally);

/* The holds of `tally` (VOTE_GRANTED and _HOLDING) are a majority and do not agree yet. All is
 * copied. `done` runs once, from the loop and never before this has returned. */
void fence_agree(struct locks *locks, struct slice key, struct slice token,
                 const struct tally *tally, fence_agree_done *done, void *context);

/* A member that has granted after the others had agreed: it takes their fence, whatever it has
 * given. `known` is the fence by which it has told of the hold, so that a later one of the same
 * token is not taken for it. */
void fence_adopt(struct locks *locks, unsigned member, struct slice key, struct slice token,
                 int64_t fence, int64_t known);

#endif
