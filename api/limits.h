/* limits.h: how much a principal, and all of them together, may ask of one process. */
#ifndef BATON_API_LIMITS_H
#define BATON_API_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct exchange;

/* The same for all workers; only `waiting` changes. 0: no limit. What the tokens-file says of a
 * principal counts in place of the first two. */
struct limits {
    int64_t rate;              /* requests per second of each principal */
    int64_t principal_waiters; /* requests of each principal that wait at once */
    int64_t process_waiters;   /* of all */
    _Atomic int64_t waiting;   /* now */
};

/* Counts a request whose principal is known, and adds the RateLimit fields where it has a limit.
 * False where it has been answered 429. Renewals and releases are counted and never answered so: a
 * release that is put off harms all who wait, and a renewal that is put off loses a lock. */
bool limits_count(struct exchange *exchange);

/* Lets a request in that may go on for long, if it is one: it waits for a lock or an event, or its
 * answer is a stream. It counts until limits_leave. False where it has been answered 429. */
bool limits_enter(struct exchange *exchange);

/* Its wait is over, or the exchange is. */
void limits_leave(struct exchange *exchange);

#endif
