/* span.h: the longest TTL of a shard's holds that may still run, as a worker knows it. Internal to
 * locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SPAN_H
#define BATON_LOCKS_QUARANTINE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/* The epoch in Redis has two windows (scripts/epoch.lua): this one and the one before. A client
 * counts on a hold for at most its TTL from before batond asked Redis for it. So it does not matter
 * how late a member of a quorum grants it. All times and lengths are microseconds; `now` and all
 * moments are by our monotonic clock. */
struct span {
    int64_t now;    /* the epoch's longest TTL reported to a client in this window */
    int64_t before; /* and in the window before */
    int64_t turns;  /* when this window ends */
    int64_t seen;   /* when the epoch was last read or written; 0: never */
    int64_t asked;  /* the longest TTL that the epoch is yet to get; 0: none */
    int64_t asked_at;
};

/* Whether a client may get a hold with this TTL: the epoch has it in a window that has not ended,
 * and was read or written less than 2 s ago. */
bool span_covers(const struct span *span, int64_t ttl, int64_t now);

/* Call this when the epoch is about to get this TTL: it counts from now on. */
void span_ask(struct span *span, int64_t ttl, int64_t now);

/* Call this with what was read of the epoch: both spans, and when the window ends. */
void span_see(struct span *span, int64_t in_window, int64_t before, int64_t turns, int64_t now);

/* The longest TTL of holds that may still run, as far as this worker knows. */
int64_t span_longest(const struct span *span, int64_t now);

#endif
