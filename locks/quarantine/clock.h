/* clock.h: what the clock of a Redis says, as far as its answers tell, and whether it has jumped.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CLOCK_H
#define BATON_LOCKS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CLOCK_JUMP_US = 500000,  /* more than this is no drift, nor somebody's correction of one */
    CLOCK_DRIFT_PART = 5000, /* in so many microseconds two clocks may part by one: 200 ppm */
};

/* Zeroed: nothing is known. All times are microseconds. */
struct redis_clock {
    bool is_known;
    int64_t low;  /* it is ahead of this process' monotonic clock by this at least, */
    int64_t high; /* and at most */
    int64_t at;   /* when that was measured */
};

enum clock_news { CLOCK_STEADY, CLOCK_AHEAD, CLOCK_BACK };

/* Redis' clock was at `time` between two moments of ours. Returns whether it has jumped since it
 * was measured last: only what no delay on the way can explain is a jump. */
enum clock_news clock_measure(struct redis_clock *clock, int64_t sent, int64_t heard, int64_t time);

/* Our moment on Redis' clock, at the latest; and what Redis calls `time` on ours. */
int64_t clock_theirs(const struct redis_clock *clock, int64_t moment);
int64_t clock_ours(const struct redis_clock *clock, int64_t time);

#endif
