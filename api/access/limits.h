/* limits.h: how much a principal, and all of them together, may ask of one process. */
#ifndef BATON_API_ACCESS_LIMITS_H
#define BATON_API_ACCESS_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct exchange;

/* The same for all workers; only `waiting` changes. 0: no limit. What the tokens-file says of a
 * principal counts in place of the first four. */
struct limits {
    int64_t rate;                       /* requests per second of each principal */
    int64_t principal_waiters;          /* requests of each principal that wait at once */
    int64_t principal_streams;          /* of events, that each principal reads at once */
    int64_t principal_connection_holds; /* that each principal has at once */
    int64_t process_waiters;            /* of all */
    int64_t principal_bodies; /* requests of each principal whose bodies are on their way */
    _Atomic int64_t waiting;  /* now */
};

/* Counts a request whose principal is known, and adds the RateLimit fields where it has a limit.
 * False where it has been answered 429. A release that is put off harms all who wait, and a renewal
 * that is put off loses a lock: those pass while others are refused, up to ten times the limit. */
bool limits_count(struct exchange *exchange);

/* A renewal or release has found nothing to renew or release: it counts as ten of them, so that
 * tokens that are made up get no further than other requests. */
void limits_charge_miss(const struct exchange *exchange);

/* Lets the body of a request be kept as it comes, if there is one to keep. It counts until
 * limits_received. False where the request has been answered 429. */
bool limits_receive(struct exchange *exchange);

/* The body has come, or the exchange is over. */
void limits_received(struct exchange *exchange);

/* Lets a request in that may go on for long, if it is one: it waits for a lock or an event, or its
 * answer is a stream; and of streams of events and holds by connection, whose memory and renewals
 * last as long as they do, there may be fewer. It counts until limits_leave. False where it has
 * been answered 429. */
bool limits_enter(struct exchange *exchange);

/* Its wait is over, or the exchange is. */
void limits_leave(struct exchange *exchange);

#endif
