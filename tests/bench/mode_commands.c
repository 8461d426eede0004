#include "tests/bench/lane.h"
#include "tests/bench/modes.h"
#include "tests/bench/monitor.h"

#include "tests/support/clock.h"

#include <string.h>

enum {
    SETTLE_MS = 5, /* after the 201: what batond still asks then belongs to the hand-over, too */
    MOST = 3,      /* commands, at most */
};

/* What Redis ran between two marks. */
struct seen {
    struct tally sent;
    struct tally inside;
};

static void mark(redisContext *link, const char *what)
{
    freeReplyObject(plain_command(link, "ECHO %s", what));
}

/* Reads on to the mark "end", and counts what stands between it and the mark "begin". */
static void count_between_marks(redisContext *monitor, struct seen *seen)
{
    struct monitor_line line = {.reply = NULL};
    for (bool begun = false;;) {
        monitor_next(monitor, &line, true);
        bool is_mark = strcmp(line.name, "echo") == 0;
        if (is_mark && begun)
            break;
        if (begun)
            tally_add(line.inside ? &seen->inside : &seen->sent, line.name, 1);
        begun = begun || is_mark;
    }
    freeReplyObject(line.reply);
}

static int64_t hand_over_between_marks(struct lane *lane, redisContext *link)
{
    int64_t start = clock_us();
    mark(link, "begin");
    lane_hand_over(lane, 0);
    lane_rest(lane, SETTLE_MS);
    mark(link, "end");
    return clock_us() - start;
}

/* What the same time without a hand-over asks of Redis (heartbeats) is no part of one. */
static void subtract(struct seen *seen, const struct seen *idle)
{
    for (size_t i = 0; i < MONITOR_NAMES; i++) {
        if (idle->sent.rows[i].count)
            tally_add(&seen->sent, idle->sent.rows[i].name, -idle->sent.rows[i].count);
        if (idle->inside.rows[i].count)
            tally_add(&seen->inside, idle->inside.rows[i].name, -idle->inside.rows[i].count);
    }
}

static void report(const struct options *options, struct figures *figures, struct seen *seen,
                   const struct seen *idle)
{
    char text[1024];
    double rounds = (double)options->count;
    long idle_commands = idle->sent.total;
    subtract(seen, idle);
    tally_describe(&seen->sent, rounds, text, sizeof text);
    figure_at_most(figures, (double)seen->sent.total / rounds, "commands", MOST,
                   "one hand-over with %lld waiting sends Redis (%s; in idle time, left out: %.2f)",
                   (long long)options->waiters, text, (double)idle_commands / rounds);
    tally_describe(&seen->inside, rounds, text, sizeof text);
    figure_plain((double)seen->inside.total / rounds, "calls", "its scripts call inside Redis (%s)",
                 text);
}

void mode_commands(const struct options *options, struct figures *figures)
{
    options_need(options, 1, 1, 0);
    struct run run;
    struct lane lane;
    run_begin(&run);
    lane_open(&lane, &run,
              &(struct lane_options){.url = options->urls[0],
                                     .wait = options->wait,
                                     .names = 1,
                                     .waiters = (size_t)options->waiters});
    lane_fill(&lane);
    lane_hand_over(&lane, 0); /* the first one loads scripts */
    lane_refill(&lane, 0);

    redisContext *link = plain_connect(options->redis);
    redisContext *monitor = monitor_open(options->redis);
    struct seen seen = {.sent = {.total = 0}}, idle = seen;
    int64_t us = 0;
    for (int64_t i = 0; i < options->count; i++) {
        us += hand_over_between_marks(&lane, link);
        count_between_marks(monitor, &seen);
        lane_refill(&lane, 0);
    }
    mark(link, "begin");
    lane_rest(&lane, us / 1000);
    mark(link, "end");
    count_between_marks(monitor, &idle);
    report(options, figures, &seen, &idle);
    redisFree(monitor);
    redisFree(link);
    lane_close(&lane);
}
