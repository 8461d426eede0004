/* acquire_round.h: asks each member of a quorum once to grant a hold. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_ACQUIRE_ROUND_H
#define BATON_LOCKS_QUORUM_ACQUIRE_ROUND_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

struct acquire_round;

/* As locks_done, with the members' votes; both are valid during the call. */
typedef void acquire_round_done(void *context, const struct locks_reply *reply,
                                const struct tally *tally);

/* Asks all members, without waiting in a queue. The result is LOCKS_DONE or _REPEATED once a
 * majority knows the hold by one fence; grants of fewer members are taken back. Copies everything.
 * The round is freed once `done` has run. */
struct acquire_round *acquire_round_begin(struct locks *locks, const struct acquire *acquire,
                                          acquire_round_done *done, void *context);

/* Takes back all that the members grant. `done` will not run. */
void acquire_round_abandon(struct acquire_round *round);

#endif
