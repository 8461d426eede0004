/* fence_agreement.h: makes a majority of a quorum agree on one fence for a hold that each member
 * granted by its own number. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_FENCE_AGREEMENT_H
#define BATON_LOCKS_QUORUM_FENCE_AGREEMENT_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

/* `fence` 0: no majority agreed on one. In `tally` only members that have the hold by this fence
 * still count as holding: another one may have lost the hold since it was first asked. Valid during
 * the call. */
typedef void fence_agree_done(void *context, int64_t fence, const struct tally *tally);

/* The holds of `tally` (VOTE_GRANTED and _HOLDING) are a majority and do not agree yet. Copies
 * everything. `done` runs once: from the loop, and only while the store closes before this has
 * returned. */
void fence_agree(struct locks *locks, struct slice key, struct slice token,
                 const struct tally *tally, fence_agree_done *done, void *context);

/* For a member that granted after the others had agreed: it takes their fence, even if it gave a
 * greater number. `known` is the fence by which the member reported the hold, so that it leaves a
 * later hold of the same token alone. */
void fence_adopt(struct locks *locks, unsigned member, struct slice key, struct slice token,
                 int64_t fence, int64_t known);

#endif
