/* monotonic.h: a clock that no operator sets. */
#ifndef BATON_BASE_MONOTONIC_H
#define BATON_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t monotonic_us(void)
{
    return monotonic_ns() / 1000;
}

static inline int64_t monotonic_ms(void)
{
    return monotonic_ns() / 1000000;
}

#endif
