#include "tests/bench/latency.h"
#include "tests/bench/modes.h"

void mode_handover(const struct options *options, struct figures *figures)
{
    static const double MEDIAN = 2.5, P99 = 4; /* times BLPOP's, at most */
    options_need(options, 1, 1, 0);
    struct run run;
    struct lane lanes[OPTIONS_URLS];
    struct latency ours[OPTIONS_URLS], bare;
    struct baseline baseline;
    run_begin(&run);
    baseline_open(&baseline, options->redis, &run);
    for (size_t i = 0; i < options->url_count; i++) {
        lane_open(&lanes[i], &run,
                  &(struct lane_options){.url = options->urls[i],
                                         .wait = options->wait,
                                         .first_name = i,
                                         .names = 1,
                                         .waiters = (size_t)options->waiters});
        lane_fill(&lanes[i]);
    }
    latency_measure(ours, &bare, lanes, options->labels, options->url_count, &baseline,
                    &(struct latency_plan){options->count, options->pause_ms});
    for (size_t i = 0; i < options->url_count; i++) {
        figure_at_most(figures, ours[i].median / bare.median, "times BLPOP", MEDIAN, "%s, median",
                       options->labels[i]);
        figure_at_most(figures, ours[i].p99 / bare.p99, "times BLPOP", P99, "%s, 99th percentile",
                       options->labels[i]);
        lane_close(&lanes[i]);
    }
    baseline_close(&baseline);
}
