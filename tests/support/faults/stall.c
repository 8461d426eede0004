#include "tests/support/faults/stall.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

enum {
    NAP_MS = 5,
    USUAL_US = 7000, /* a nap that takes no longer than this was not kept waiting */
    OTHERS = 2,      /* batond and Redis each wait as we do, one after the other */
};

static void *nap(void *context)
{
    struct stall *stall = context;
    while (!stall->stop) {
        int64_t begun = clock_us();
        clock_sleep_ms(NAP_MS);
        int64_t took = clock_us() - begun;
        stall->late_us += took > USUAL_US ? took - NAP_MS * 1000 : 0;
    }
    return NULL;
}

void stall_start(struct stall *stall)
{
    stall->late_us = 0;
    stall->stop = false;
    assert_int_equal(pthread_create(&stall->thread, NULL, nap, stall), 0);
}

void stall_stop(struct stall *stall)
{
    stall->stop = true;
    pthread_join(stall->thread, NULL);
}

int64_t stall_ms(struct stall *stall)
{
    return stall->late_us / 1000;
}

int64_t stall_elapsed_ms(struct stall *stall, int64_t begun_ms, int64_t begun_stall_ms)
{
    int64_t elapsed = clock_ms() - begun_ms - OTHERS * (stall_ms(stall) - begun_stall_ms);
    return elapsed > 0 ? elapsed : 0;
}
