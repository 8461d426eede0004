/* wrong_clock.h: a batond whose wall clock is wrong. */
#ifndef BATON_TESTS_HISTORY_WRONG_CLOCK_H
#define BATON_TESTS_HISTORY_WRONG_CLOCK_H

#include "tests/support/batond_process.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/http.h"

/* Starts a batond that has this clock. */
void wrong_clock_start(struct batond_process *batond, const char *redis_url,
                       const struct jumping_clock *clock);

/* That a server's clock, as its Date header tells it, is off by so many seconds. */
void wrong_clock_assert(struct http_client *http, long seconds);

#endif
