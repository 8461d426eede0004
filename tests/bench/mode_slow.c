#include "tests/bench/caller.h"
#include "tests/bench/modes.h"
#include "tests/bench/run.h"
#include "tests/bench/samples.h"

#include "tests/support/clock.h"
#include "tests/support/faults/slow.h"

#include <err.h>
#include <stdio.h>

enum { QUICK = 8, DRIP_MS = 2000, P99_MS = 50 };

/* Takes and releases a lock on each connection in turn, and drips, where there is who does. */
static void use_locks(struct samples *samples, struct caller callers[QUICK], const struct run *run,
                      struct slow *slow, int64_t ms)
{
    int64_t until = clock_ms() + ms, drip = clock_ms() + DRIP_MS;
    for (size_t i = 0; clock_ms() < until; i++) {
        struct caller *caller = &callers[i % QUICK];
        char target[RUN_TARGET];
        run_target(run, i % QUICK, "", target);
        int64_t start = clock_us();
        int taken = caller_call(caller, "POST", target, NULL);
        int64_t middle = clock_us();
        run_target(run, i % QUICK, "?force=true", target);
        if (taken != 201 || caller_call(caller, "DELETE", target, NULL) != 200)
            errx(2, "a quick client got %d and %d", taken, caller->status);
        samples_add(samples, middle - start);
        samples_add(samples, clock_us() - middle);
        if (slow && clock_ms() >= drip) {
            slow_drip(slow);
            drip += DRIP_MS;
        }
    }
}

/* In milliseconds; the samples go. */
static double take_p99(struct samples *samples, const char *when)
{
    double p99 = (double)samples_percentile(samples, 99) / 1000;
    figure_plain((double)samples_percentile(samples, 50) / 1000, "ms",
                 "a request %s, median of %zu", when, samples->count);
    samples_clear(samples);
    return p99;
}

void mode_slow(const struct options *options, struct figures *figures)
{
    static struct caller callers[QUICK];
    options_need(options, 1, 0, 0);
    struct sockaddr_in server = caller_address(options->urls[0]);
    struct samples samples = {0};
    struct run run;
    run_begin(&run);
    for (int i = 0; i < QUICK; i++)
        if (caller_open(&callers[i], &server) < 0)
            errx(2, "cannot connect");
    use_locks(&samples, callers, &run, NULL, options->seconds * 1000 / 3);
    double p99 = take_p99(&samples, "before they come");
    figure_plain(p99, "ms", "99th percentile");
    struct slow *slow = slow_new(ntohs(server.sin_port), (size_t)options->clients);
    if (!slow)
        errx(2, "not all slow clients can connect");
    use_locks(&samples, callers, &run, slow, options->seconds * 1000);
    size_t ended = 0;
    for (int kind = 0; kind < SLOW_KINDS; kind++)
        ended += slow_ended(slow, (enum slow_kind)kind);
    figure_plain((double)options->clients, "", "slow clients of %d kinds (%zu ended too early)",
                 SLOW_KINDS, ended);
    p99 = take_p99(&samples, "among them");
    figure_at_most(figures, p99, "ms", P99_MS, "99th percentile");
    slow_free(slow);
    for (int i = 0; i < QUICK; i++)
        caller_close(&callers[i]);
}
