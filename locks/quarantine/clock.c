#include "locks/quarantine/clock.h"

#include <time.h>
#include <uv.h>

int64_t clock_now(void)
{
    return (int64_t)(uv_hrtime() / NS_PER_US);
}

int64_t clock_slept(void)
{
    struct timespec all, awake;
    clock_gettime(CLOCK_MONOTONIC, &awake);
    clock_gettime(CLOCK_BOOTTIME, &all);
    return (all.tv_sec - awake.tv_sec) * INT64_C(1000000) +
           (all.tv_nsec - awake.tv_nsec) / NS_PER_US;
}

enum clock_news clock_measure(struct redis_clock *clock, int64_t sent, int64_t answered,
                              int64_t time)
{
    const struct redis_clock seen = {true, time - answered, time - sent, answered};
    struct redis_clock old = *clock;
    *clock = seen;
    if (!old.is_known)
        return CLOCK_STEADY;
    int64_t drift = (answered - old.at) / CLOCK_DRIFT_PART + 1;
    old.low -= drift;
    old.high += drift;
    if (seen.low > old.high + CLOCK_JUMP_US)
        return CLOCK_AHEAD;
    if (seen.high < old.low - CLOCK_JUMP_US)
        return CLOCK_BACK;
    if (seen.low <= old.high && old.low <= seen.high) { /* both measurements hold */
        clock->low = seen.low > old.low ? seen.low : old.low;
        clock->high = seen.high < old.high ? seen.high : old.high;
    }
    return CLOCK_STEADY;
}

int64_t clock_theirs(const struct redis_clock *clock, int64_t moment)
{
    return moment + clock->high;
}
