/* hold_counter.h: how many holds there are in Redis, counted when somebody wants to know, a part at
 * a time. */
#ifndef BATON_API_STATS_HOLD_COUNTER_H
#define BATON_API_STATS_HOLD_COUNTER_H

#include "locks/locks.h"

#include <stdatomic.h>

/* Of the whole process: whoever scrapes next goes on where the one before has stopped, on whichever
 * worker. Begins with hold_counter_begin. */
struct hold_counter {
    atomic_bool taken;   /* somebody counts: the next three are that worker's own */
    uint64_t not_before; /* nanoseconds of the monotonic clock: so soon it is not counted again */
    int64_t holds_so_far;
    char cursor[LOCKS_COUNT_CURSOR_LENGTH + 1];
    _Atomic int64_t holds;      /* when it was counted to the end; -1: it never was */
    _Atomic int64_t counted_ms; /* when that was, since 1970 */
};

void hold_counter_begin(struct hold_counter *hold_counter);

/* Counts on, and calls `done` from the loop once that is enough for now. False where there is
 * nothing to wait for: another worker counts, or it was counted a moment ago. From any worker's
 * thread, with its own locks. */
bool hold_counter_count(struct hold_counter *hold_counter, struct locks *locks,
                        void (*done)(void *context), void *context);

#endif
