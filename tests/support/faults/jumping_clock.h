/* jumping_clock.h: a wall clock for other processes, which a test sets while they run. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_JUMPING_CLOCK_H
#define BATON_TESTS_SUPPORT_FAULTS_JUMPING_CLOCK_H

#include "tests/support/temp_dir.h"

#include <stdint.h>

struct jumping_clock {
    struct temp_dir dir;
    volatile int64_t *shift_us;
    char preload[120];
    char file[120];
    const char *environment[3]; /* for a process that is to have this clock; NULL-terminated */
};

/* Builds what is preloaded, with $CC or cc; the clock is right at first. Fails the test if it
 * cannot. */
void jumping_clock_open(struct jumping_clock *clock);

/* From now on the clock is wrong by so many seconds, may be negative. Monotonic clocks go on. */
void jumping_clock_set(struct jumping_clock *clock, double seconds);

/* Takes a zeroed one too. */
void jumping_clock_close(struct jumping_clock *clock);

#endif
