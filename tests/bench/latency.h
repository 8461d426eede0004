/* latency.h: how long hand-overs take, on several batonds and by BLPOP in turn. */
#ifndef BATON_TESTS_BENCH_LATENCY_H
#define BATON_TESTS_BENCH_LATENCY_H

#include "tests/bench/baseline.h"
#include "tests/bench/lane.h"
#include "tests/bench/samples.h"

/* In us. */
struct latency {
    struct samples samples;
    double median;
    double p99;
};

/* So many hand-overs, and how long all is quiet before each. */
struct latency_plan {
    int64_t rounds;
    int64_t pause_ms;
};

/* Hands over on each lane and by BLPOP in turn; the first few do not count. `lanes`, their `labels`
 * and `ret_lanes` have `count` elements. Prints what came out. */
void latency_measure(struct latency *ret_lanes, struct latency *ret_baseline, struct lane *lanes,
                     const char *const *labels, size_t count, struct baseline *baseline,
                     const struct latency_plan *plan);

#endif
