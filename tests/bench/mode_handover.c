#include "tests/bench/latency.h"
#include "tests/bench/modes.h"

/* What is asked is asked of the first URL, and of a lock that is held for a while. Hand-overs that
 * follow one another at once find all caches warm: there BLPOP gains more than HTTP can, and it is
 * told only. */
enum { HELD_MS = 20 };

static void judge(const struct options *options, struct figures *figures, double times,
                  double bound, const char *label, const char *what)
{
    if (options->pause_ms < HELD_MS || label != options->labels[0])
        figure_plain(times, "times BLPOP", "%s, %s", label, what);
    else
        figure_at_most(figures, times, "times BLPOP", bound, "%s, %s", label, what);
}

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
        judge(options, figures, ours[i].median / bare.median, MEDIAN, options->labels[i], "median");
        judge(options, figures, ours[i].p99 / bare.p99, P99, options->labels[i], "99th percentile");
        lane_close(&lanes[i]);
    }
    baseline_close(&baseline);
}
