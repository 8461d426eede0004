/* leave.h: takes back what an attempt has in Redis after it ended here. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_LEAVE_H
#define BATON_LOCKS_WAITING_LEAVE_H

#include "locks/calls/state.h"

/* How an attempt ended. */
enum leaving {
    LEAVE_GONE,  /* the client has gone, or cannot have learnt of a grant */
    LEAVE_DRAIN, /* the worker drains: Redis keeps the place for the waiter lease at least */
    LEAVE_STALE, /* the attempt has no request: takes back only an unclaimed grant */
    LEAVE_KINDS  /* how many kinds exist */
};

/* Asks Redis, again and again until it replies, to take back what this attempt has: a grant or a
 * place in the queue. The token's later attempts keep what they have. Redis keeps the place for
 * `keep_ms` if that is not 0. Copies all texts. */
void leave_queue(struct locks *locks, struct slice key, struct slice token,
                 const struct attempt *attempt, enum leaving how, int64_t keep_ms);

#endif
