/* acquire_round.h: one try to get a majority of a quorum to grant a hold. Internal to locks/. */
#ifndef BATON_LOCKS_QUORUM_ACQUIRE_ROUND_H
#define BATON_LOCKS_QUORUM_ACQUIRE_ROUND_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

struct acquire_round;

/* As locks_done, with what the members have said; both valid during the call. */
typedef void acquire_round_done(void *context, const struct locks_reply *reply,
                                const struct tally *tally);

/* Asks all members, without waiting: LOCKS_DONE and _REPEATED once their majority knows the hold by
 * one fence; what was not enough for a majority is taken back. Everything is copied. It is gone
 * once `done` has run. */
struct acquire_round *acquire_round_begin(struct locks *locks, const struct acquire *acquire,
                                          acquire_round_done *done, void *context);

/* Nobody wants it any more: whatever is granted is taken back, and `done` will not be called. */
void acquire_round_abandon(struct acquire_round *round);

#endif
