/* rate.h: limits requests per second, with bursts of at most one second's worth. */
#ifndef BATON_API_ACCESS_RATE_H
#define BATON_API_ACCESS_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371, annex A; ATM Forum
 * TM 4.0, 4.4.2). It keeps one number: the time at which the requests so far would end if they came
 * evenly, at most a second ahead. */

/* The decision on a request. */
struct rate {
    bool admitted;
    int64_t left; /* how many more would be admitted at once after it */
};

/* Counts a request at `now_ns` of the monotonic clock; `per_second` is at least 1. With `must_pass`
 * it is always admitted, and uses at most all that is left. A refused request is not counted: one
 * is admitted again within a second. From any thread. */
struct rate rate_count(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns,
                       bool must_pass);

/* Counts further requests; the next request waits for at most these. From any thread. */
void rate_charge(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns, int64_t requests);

#endif
