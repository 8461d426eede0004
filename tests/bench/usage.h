/* usage.h: what a process has used so far, as /proc tells it. */
#ifndef BATON_TESTS_BENCH_USAGE_H
#define BATON_TESTS_BENCH_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/* Processor time of all its threads, user and system, in ms. Ends the program if there is no such
 * process, and so does the next. */
int64_t usage_cpu_ms(pid_t pid);

/* Resident memory in KiB. */
int64_t usage_resident_kib(pid_t pid);

#endif
