#include "tests/bench/latency.h"

#include "tests/bench/figure.h"

enum {
    WARM_UP = 20,  /* one round in so many does not count, and is done first */
    STRIDE = 7919, /* prime: from name to name of many */
};

static void hand_over(struct lane *lane, int64_t round, const struct latency_plan *plan,
                      struct latency *latency)
{
    size_t name = (size_t)(round + plan->rounds) * STRIDE % lane->names;
    if (plan->pause_ms)
        lane_rest(lane, plan->pause_ms);
    int64_t us = lane_hand_over(lane, name);
    lane_refill(lane, name);
    if (round >= 0)
        samples_add(&latency->samples, us);
}

static void conclude(struct latency *latency, const char *label)
{
    latency->median = (double)samples_percentile(&latency->samples, 50);
    latency->p99 = (double)samples_percentile(&latency->samples, 99);
    figure_plain(latency->median, "us", "%s, median of %zu", label, latency->samples.count);
    figure_plain(latency->p99, "us", "%s, 99th percentile", label);
    samples_clear(&latency->samples);
}

void latency_measure(struct latency *ret_lanes, struct latency *ret_baseline, struct lane *lanes,
                     const char *const *labels, size_t count, struct baseline *baseline,
                     const struct latency_plan *plan)
{
    *ret_baseline = (struct latency){.median = 0};
    for (size_t i = 0; i < count; i++)
        ret_lanes[i] = (struct latency){.median = 0};
    for (int64_t round = -plan->rounds / WARM_UP; round < plan->rounds; round++) {
        for (size_t i = 0; i < count; i++)
            hand_over(&lanes[i], round, plan, &ret_lanes[i]);
        int64_t us = baseline_hand_over(baseline, plan->pause_ms);
        if (round >= 0)
            samples_add(&ret_baseline->samples, us);
    }
    conclude(ret_baseline, "BLPOP/LPUSH");
    for (size_t i = 0; i < count; i++)
        conclude(&ret_lanes[i], labels[i]);
}
