/* span.h: the longest TTL of the holds of a shard that may still run, as a worker knows it.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SPAN_H
#define BATON_LOCKS_QUARANTINE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/* The epoch in Redis has two windows (scripts/epoch.lua): this one and the one before. A client
 * counts on a hold from before Redis was asked for it, and for no longer than its TTL. So it does
 * not matter how late a member of a quorum makes it. All times and lengths are microseconds; `now`
 * and all moments are by our monotonic clock. */
struct span {
    int64_t now;    /* the longest TTL that a client was told of in this window, by the epoch, */
    int64_t before; /* and in the one before */
    int64_t turns;  /* when this window ends */
    int64_t seen;   /* when the epoch was last read or written; 0: it was not */
    int64_t asked;  /* the longest that the epoch was asked to have, and does not have yet; 0: none
                     */
    int64_t asked_at;
};

/* Whether a client may be told of this TTL: the epoch has it in a window that has not ended, and
 * was seen less than 2 s ago. */
bool span_covers(const struct span *span, int64_t ttl, int64_t now);

/* The epoch is asked to have this TTL: from now on it is remembered here. */
void span_ask(struct span *span, int64_t ttl, int64_t now);

/* The epoch was read, with these two, and with a window that ends at `turns`. */
void span_see(struct span *span, int64_t in_window, int64_t before, int64_t turns, int64_t now);

/* No hold that may still run has a longer TTL, as far as this worker knows. */
int64_t span_longest(const struct span *span, int64_t now);

#endif
