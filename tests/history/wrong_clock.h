/* wrong_clock.h: a batond whose wall clock is wrong. */
#ifndef BATON_TESTS_HISTORY_WRONG_CLOCK_H
#define BATON_TESTS_HISTORY_WRONG_CLOCK_H

#include "tests/support/batond_process.h"
#include "tests/support/http.h"

/* Starts a batond whose clock is off by so many seconds. Builds what shifts the clock
 * (preload/shifted_clock.c) with $CC or cc in `dir` if it is not there yet; `dir` must outlive the
 * batond. Fails the test if it cannot. */
void wrong_clock_start(struct batond_process *batond, const char *redis_url, long seconds,
                       const char *dir);

/* That a server's clock, as its Date header tells it, is off by so many seconds. */
void wrong_clock_assert(struct http_client *http, long seconds);

#endif
