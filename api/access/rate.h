/* rate.h: so many requests a second, and no more than a second's worth at once. */
#ifndef BATON_API_ACCESS_RATE_H
#define BATON_API_ACCESS_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371, annex A; ATM Forum
 * TM 4.0, 4.4.2): one number is all that is kept, the time at which the requests so far would be
 * over if they came evenly. It may lie a second ahead, and no further. */

/* What a request finds. */
struct rate {
    bool admitted;
    int64_t left; /* how many more would be admitted at once */
};

/* Counts a request at `now_ns` of the monotonic clock, with at least one allowed per second. Where
 * it must pass, it is admitted anyhow, and uses up at most all that is left. Refused ones are not
 * counted: the next is admitted within a second. From any thread. */
struct rate rate_count(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns,
                       bool must_pass);

/* Counts so many requests more, of which the next has to wait for at most these. From any thread.
 */
void rate_charge(_Atomic int64_t *over_ns, int64_t per_second, int64_t now_ns, int64_t requests);

#endif
