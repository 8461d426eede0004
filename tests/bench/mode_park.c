#include "tests/bench/latency.h"
#include "tests/bench/modes.h"
#include "tests/bench/usage.h"

#include "tests/support/clock.h"

/* What is asked: of a core in percent, per waiter in KiB, times BLPOP's and times the latency where
 * nobody else is parked. A hand-over to one of several waiters of a name takes Redis longer. */
static const double CPU = 3, RESIDENT = 16, MEDIAN = 2.5, P99 = 4, FACTOR = 1.5, IN_QUEUE = 2;

enum { SETTLE_MS = 2000 };

/* Nothing happens for so long: what do batond and Redis use? Returns percent of a core. */
static double idle_cpu(struct lane *lane, pid_t batond, pid_t redis, int64_t seconds,
                       const char *when)
{
    int64_t batond_ms = usage_cpu_ms(batond), redis_ms = usage_cpu_ms(redis);
    int64_t start = clock_ms();
    lane_rest(lane, seconds * 1000);
    double per_ms = 100.0 / (double)(clock_ms() - start);
    batond_ms = usage_cpu_ms(batond) - batond_ms;
    redis_ms = usage_cpu_ms(redis) - redis_ms;
    figure_plain((double)batond_ms * per_ms, "% of a core", "batond %s, %lld s", when,
                 (long long)seconds);
    figure_plain((double)redis_ms * per_ms, "% of a core", "Redis %s", when);
    return (double)(batond_ms + redis_ms) * per_ms;
}

static void fill(struct lane *lane, pid_t batond, struct figures *figures)
{
    double clients = (double)(lane->names * lane->waiters);
    int64_t before = usage_resident_kib(batond), start = clock_ms();
    lane_fill(lane);
    int64_t after = usage_resident_kib(batond);
    figure_plain((double)(clock_ms() - start) / 1000, "s", "to park %.0f clients on %zu names",
                 clients, lane->names);
    figure_at_most(figures, (double)(after - before) / clients, "KiB", RESIDENT,
                   "resident memory per waiter (%lld KiB before, %lld after)", (long long)before,
                   (long long)after);
}

static void hand_overs(const struct options *options, struct figures *figures, struct lane *lanes,
                       struct baseline *baseline)
{
    static const char *const labels[] = {"hand-over among the parked",
                                         "hand-over on an empty batond"};
    struct latency ours[2], bare;
    latency_measure(ours, &bare, lanes, labels, options->url_count, baseline,
                    &(struct latency_plan){options->count, options->pause_ms});
    figure_at_most(figures, ours[0].median / bare.median, "times BLPOP", MEDIAN * FACTOR,
                   "among the parked, median");
    figure_at_most(figures, ours[0].p99 / bare.p99, "times BLPOP", P99 * FACTOR,
                   "among the parked, 99th percentile");
    if (options->url_count < 2)
        return;
    double factor = options->waiters > 1 ? IN_QUEUE : FACTOR;
    figure_at_most(figures, ours[0].median / ours[1].median, "times", factor,
                   "median beside the empty batond's");
    figure_at_most(figures, ours[0].p99 / ours[1].p99, "times", factor,
                   "99th percentile beside the empty batond's");
}

void mode_park(const struct options *options, struct figures *figures)
{
    options_need(options, 1, 1, 1);
    struct run run;
    struct lane lanes[2];
    struct baseline baseline;
    pid_t batond = (pid_t)options->pid;
    size_t names = (size_t)options->names;
    run_begin(&run);
    baseline_open(&baseline, options->redis, &run);
    pid_t redis = plain_process(baseline.giver);
    lane_open(&lanes[0], &run,
              &(struct lane_options){.url = options->urls[0],
                                     .wait = options->wait,
                                     .names = names,
                                     .waiters = (size_t)options->waiters});
    if (options->url_count > 1)
        lane_open(&lanes[1], &run,
                  &(struct lane_options){.url = options->urls[1],
                                         .wait = options->wait,
                                         .first_name = names,
                                         .names = 1,
                                         .waiters = 1});
    lane_rest(&lanes[0], SETTLE_MS);
    idle_cpu(&lanes[0], batond, redis, options->seconds / 2, "with nobody parked");
    fill(&lanes[0], batond, figures);
    lane_rest(&lanes[0], SETTLE_MS);
    figure_at_most(figures,
                   idle_cpu(&lanes[0], batond, redis, options->seconds, "while nothing happens"),
                   "% of a core", CPU, "both together");
    if (options->url_count > 1)
        lane_fill(&lanes[1]);
    hand_overs(options, figures, lanes, &baseline);
    for (size_t i = 0; i < options->url_count; i++)
        lane_close(&lanes[i]);
    baseline_close(&baseline);
}
