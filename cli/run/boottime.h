/* boottime.h: the clock of a lease: it goes on while the machine sleeps, and nobody sets it. */
#ifndef BATON_CLI_RUN_BOOTTIME_H
#define BATON_CLI_RUN_BOOTTIME_H

#include <stdint.h>
#include <time.h>

#define MS_IN_NS INT64_C(1000000)

static inline int64_t boottime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline struct timespec boottime_spec(int64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

#endif
