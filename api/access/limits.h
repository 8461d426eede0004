/* limits.h: limits the requests of each principal, and of all together, in one process: their rate,
 * how many have a body under way, and how many wait. */
#ifndef BATON_API_ACCESS_LIMITS_H
#define BATON_API_ACCESS_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct exchange;

/* All workers share it; only `waiting` changes. 0: no limit. The tokens-file may replace the first
 * four for a principal. */
struct limits {
    int64_t rate;                       /* requests per second of each principal */
    int64_t principal_waiters;          /* requests of each principal that wait at once */
    int64_t principal_streams;          /* of events, that each principal reads at once */
    int64_t principal_connection_holds; /* holds of connections that each principal has at once */
    int64_t process_waiters;            /* requests of all that wait at once */
    int64_t principal_bodies;           /* requests of each principal with a body under way */
    _Atomic int64_t waiting;            /* requests of all that wait now */
};

/* Counts a request whose principal is known, and adds the RateLimit fields if the principal has a
 * limit. Returns false if it has answered 429. Renewals and releases pass up to ten times the
 * limit: a late renewal loses a lock, and a late release harms all waiters. */
bool limits_count(struct exchange *exchange);

/* Call this if a renewal or release found no hold: it counts as ten, so that guessing tokens is no
 * faster than other requests. */
void limits_charge_miss(const struct exchange *exchange);

/* Counts the body of a request, if it has one to keep, until limits_received. Returns false if it
 * has answered 429. */
bool limits_receive(struct exchange *exchange);

/* Call this when the body is complete, and at the end of the exchange. */
void limits_received(struct exchange *exchange);

/* Counts a request that may wait for a lock or an event, or that gets a stream, until limits_leave.
 * Streams of events and holds of connections have their own limits, since they use memory and
 * renewals all the time. Returns false if it has answered 429. */
bool limits_enter(struct exchange *exchange);

/* Call this when the wait is over, and at the end of the exchange. */
void limits_leave(struct exchange *exchange);

#endif
