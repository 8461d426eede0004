#include "tests/bench/askers.h"
#include "tests/bench/modes.h"
#include "tests/bench/samples.h"
#include "tests/bench/usage.h"

#include "tests/support/clock.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { REPLY_MS = 20000, WARM_UP = 5 /* the first part of so many does not count */ };

/* What one step came to. */
struct outcome {
    struct samples ns;
    size_t wrong; /* answers, of all */
};

struct pairs {
    struct askers askers;
    struct outcome outcomes[EXCHANGE_STEPS];
    bool counting;
};

static void answered(void *context, struct asker *asker, bool right)
{
    struct pairs *pairs = context;
    struct outcome *outcome = &pairs->outcomes[asker->step];
    if (!right && outcome->wrong++ == 0)
        warnx("step %zu was answered: %s", asker->step, asker->caller.reply);
    if (pairs->counting && right)
        samples_add(&outcome->ns, asker->answered - asker->asked);
}

static size_t serve(struct pairs *pairs, bool go_on)
{
    int served = askers_serve(&pairs->askers, REPLY_MS, go_on);
    if (served < 0)
        errx(2, "no answer for %d s", REPLY_MS / 1000);
    return (size_t)served;
}

static void work(struct pairs *pairs, int64_t ms)
{
    int64_t end = clock_ns() + ms * 1000000;
    while (clock_ns() < end)
        serve(pairs, true);
}

/* Nothing of this is under way when the next contender has its turn. */
static void await_last_answers(struct pairs *pairs)
{
    pairs->counting = false;
    for (size_t left = pairs->askers.count; left > 0;)
        left -= serve(pairs, false);
}

/* CPU time in us of the processes with that name; "client" is this one. */
static double cpu_us(const struct options *options, const char *name)
{
    struct rusage own;
    int64_t ms = 0;
    size_t length = strlen(name);
    for (size_t i = 0; i < options->watched_count; i++)
        if (strncmp(options->watched[i], name, length) == 0 && options->watched[i][length] == '=')
            ms += usage_cpu_ms(atoi(options->watched[i] + length + 1));
    if (strcmp(name, "client") != 0)
        return (double)ms * 1000;
    getrusage(RUSAGE_SELF, &own);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1e6 +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

static const char *const PROCESSES[] = {"server", "store", "client"};

enum { PROCESS_COUNT = sizeof PROCESSES / sizeof *PROCESSES };

static void report_latency(struct outcome *outcome, const char *name)
{
    char figure[64];
    if (outcome->ns.count == 0)
        return;
    snprintf(figure, sizeof figure, "%s median", name);
    figure_record(figure, "us", (double)samples_percentile(&outcome->ns, 50) / 1000);
    snprintf(figure, sizeof figure, "%s p99", name);
    figure_record(figure, "us", (double)samples_percentile(&outcome->ns, 99) / 1000);
}

static void report(struct pairs *pairs, double seconds, const double *cpu)
{
    size_t requests = 0, wrong = 0, once = pairs->askers.exchange.once;
    for (size_t i = 0; i < pairs->askers.exchange.count; i++) {
        requests += pairs->outcomes[i].ns.count;
        wrong += pairs->outcomes[i].wrong;
    }
    if (requests == 0)
        errx(2, "nothing was answered as expected");
    figure_record("throughput", "a second", (double)pairs->outcomes[once].ns.count / seconds);
    report_latency(&pairs->outcomes[once], "acquire");
    if (pairs->askers.exchange.count > once + 1)
        report_latency(&pairs->outcomes[once + 1], "release");
    for (size_t i = 0; i < PROCESS_COUNT; i++) {
        char figure[64];
        snprintf(figure, sizeof figure, "CPU %s", PROCESSES[i]);
        if (cpu[i] > 0)
            figure_record(figure, "us a request", cpu[i] / (double)requests);
    }
    figure_record("failures", "answers", (double)wrong);
}

static void measure(struct pairs *pairs, const struct options *options)
{
    double before[PROCESS_COUNT], used[PROCESS_COUNT];
    work(pairs, options->seconds * 1000 / WARM_UP);
    for (size_t i = 0; i < PROCESS_COUNT; i++)
        before[i] = cpu_us(options, PROCESSES[i]);
    pairs->counting = true;
    int64_t start = clock_ns();
    work(pairs, options->seconds * 1000);
    double seconds = (double)(clock_ns() - start) / 1e9;
    for (size_t i = 0; i < PROCESS_COUNT; i++)
        used[i] = cpu_us(options, PROCESSES[i]) - before[i];
    await_last_answers(pairs);
    report(pairs, seconds, used);
}

void mode_pairs(const struct options *options, struct figures *figures)
{
    (void)figures;
    struct pairs pairs = {.askers = {.answered = answered, .context = &pairs}};
    askers_open(&pairs.askers, options);
    askers_start(&pairs.askers);
    measure(&pairs, options);
    askers_close(&pairs.askers);
    for (size_t i = 0; i < EXCHANGE_STEPS; i++)
        samples_clear(&pairs.outcomes[i].ns);
}
