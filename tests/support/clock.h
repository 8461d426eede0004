/* clock.h: monotonic time for tests, and waiting for what tells nobody when it happens. */
#ifndef BATON_TESTS_SUPPORT_CLOCK_H
#define BATON_TESTS_SUPPORT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The longest that a test waits for what has to happen. It ends a hang and says nothing about
 * speed: how soon things happen is asserted in tests/timing. */
enum { CLOCK_HANG_MS = 60000 };

static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_us(void)
{
    return clock_ns() / 1000;
}

static inline int64_t clock_ms(void)
{
    return clock_us() / 1000;
}

static inline void clock_sleep_ms(int64_t ms)
{
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

/* Asks every 2 ms until `condition` holds. Returns false if it still does not after `timeout_ms`.
 * For what can be waited for without asking, wait without asking. */
static inline bool clock_wait_until(bool (*condition)(void *context), void *context,
                                    int64_t timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    while (!condition(context)) {
        if (clock_ms() >= deadline)
            return false;
        clock_sleep_ms(2);
    }
    return true;
}

#endif
