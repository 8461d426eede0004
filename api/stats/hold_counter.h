/* hold_counter.h: counts the holds in Redis, a portion for each scrape of the metrics. */
#ifndef BATON_API_STATS_HOLD_COUNTER_H
#define BATON_API_STATS_HOLD_COUNTER_H

#include "locks/locks.h"

#include <stdatomic.h>

/* The process has one: each scrape, at any worker, continues where the last one stopped. Begins
 * with hold_counter_begin. */
struct hold_counter {
    atomic_bool taken;   /* a worker counts now, and owns the next three */
    uint64_t not_before; /* ns of the monotonic clock: the next count starts then at the earliest */
    int64_t holds_so_far;
    char cursor[LOCKS_COUNT_CURSOR_LENGTH + 1];
    _Atomic int64_t holds;      /* by the last complete count; -1: none yet */
    _Atomic int64_t counted_ms; /* the time of that count, since 1970 */
};

void hold_counter_begin(struct hold_counter *hold_counter);

/* Counts a portion, then calls `done` from the loop. Returns false, and calls nothing, if another
 * worker counts now or the last count is very recent. Call it on any worker's thread, with the
 * locks of that worker. */
bool hold_counter_count(struct hold_counter *hold_counter, struct locks *locks,
                        void (*done)(void *context), void *context);

#endif
