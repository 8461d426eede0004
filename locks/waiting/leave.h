/* leave.h: takes back what Redis has of an attempt that ended here. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_LEAVE_H
#define BATON_LOCKS_WAITING_LEAVE_H

#include "locks/calls/state.h"

/* How an attempt ended. */
enum leaving {
    LEAVE_GONE,  /* its client has gone, or cannot have learnt of a grant */
    LEAVE_DRAIN, /* its client was sent away: the place is kept for the waiter lease at least */
    LEAVE_STALE, /* no request has it any more: only a grant that was never claimed is taken back */
    LEAVE_KINDS  /* how many there are */
};

/* Asks Redis until it replies to take back what this attempt has, a grant or a place in the queue.
 * The token's later attempts keep what they have. With a `keep_ms` the place is kept that long.
 * All texts are copied. */
void leave_queue(struct locks *locks, struct slice key, struct slice token,
                 const struct attempt *attempt, enum leaving how, int64_t keep_ms);

#endif
