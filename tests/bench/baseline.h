/* baseline.h: the same work done by bare BLPOP and LPUSH, to compare with. */
#ifndef BATON_TESTS_BENCH_BASELINE_H
#define BATON_TESTS_BENCH_BASELINE_H

#include "tests/bench/plain.h"
#include "tests/bench/run.h"

#include <stdint.h>

/* One client that waits in BLPOP, and one that wakes it with LPUSH. */
struct baseline {
    redisContext *taker;
    redisContext *giver;
    char key[64];
};

void baseline_open(struct baseline *baseline, const char *redis, const struct run *run);

void baseline_close(struct baseline *baseline);

/* From sending the LPUSH to having the reply to a BLPOP that was there `pause_ms` before, in us. */
int64_t baseline_hand_over(struct baseline *baseline, int64_t pause_ms);

#endif
