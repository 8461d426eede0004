/* stall.h: how long the machine itself kept everybody waiting: what a bound in wall-clock time has
 * to allow for, on a machine that others use, too. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_STALL_H
#define BATON_TESTS_SUPPORT_FAULTS_STALL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A thread that sleeps for short times and adds up how much longer it slept. */
struct stall {
    atomic_llong late_us;
    atomic_bool stop;
    pthread_t thread;
};

void stall_start(struct stall *stall);
void stall_stop(struct stall *stall);

/* All of it so far. */
int64_t stall_ms(struct stall *stall);

/* The milliseconds since `begun_ms` (by clock_ms), without what the machine kept batond and Redis
 * waiting since stall_ms was `begun_stall_ms`. */
int64_t stall_elapsed_ms(struct stall *stall, int64_t begun_ms, int64_t begun_stall_ms);

#endif
