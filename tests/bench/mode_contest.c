#include "tests/bench/askers.h"
#include "tests/bench/modes.h"

#include "tests/support/clock.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A client asks (arrived), is granted the lock, sends the release at once, and asks again when that
 * is answered. In ns; 0: not within the time. */
struct turn {
    size_t client;
    int64_t arrived;
    int64_t granted;
    int64_t released;
};

struct contest {
    struct askers askers; /* who acquire, and release */
    struct turn *now;     /* of each client */
    struct turn *turns;   /* that are over */
    size_t turn_count;
    size_t room;
};

static void keep_turn(struct contest *contest, const struct turn *turn)
{
    if (contest->turn_count == contest->room) {
        contest->room = 2 * contest->room + 65536;
        contest->turns = reallocarray(contest->turns, contest->room, sizeof *contest->turns);
        if (!contest->turns)
            err(2, "contest");
    }
    contest->turns[contest->turn_count++] = *turn;
}

/* The turn of an asker that waits for an answer. */
static struct turn *turn_of(struct contest *contest, const struct asker *asker)
{
    size_t client = (size_t)(asker - contest->askers.of);
    struct turn *turn = &contest->now[client];
    if (asker->step == contest->askers.exchange.once)
        *turn = (struct turn){.client = client, .arrived = asker->asked};
    else
        turn->released = asker->asked;
    return turn;
}

static void answered(void *context, struct asker *asker, bool right)
{
    struct contest *contest = context;
    if (!right)
        errx(2, "step %zu was answered: %s", asker->step, asker->caller.reply);
    if (asker->step < contest->askers.exchange.once)
        return;
    struct turn *turn = turn_of(contest, asker);
    if (asker->step == contest->askers.exchange.once)
        turn->granted = asker->answered;
    else
        keep_turn(contest, turn);
}

/* For tests/bench/compare/contended.py. */
static void print(const struct contest *contest, int64_t start, int64_t end)
{
    printf("# window %" PRId64 " %" PRId64 "\n", start, end);
    for (size_t i = 0; i < contest->turn_count; i++) {
        const struct turn *turn = &contest->turns[i];
        printf("%zu %" PRId64 " %" PRId64 " %" PRId64 "\n", turn->client, turn->arrived,
               turn->granted, turn->released);
    }
}

void mode_contest(const struct options *options, struct figures *figures)
{
    (void)figures;
    struct contest contest = {
        .askers = {.answered = answered, .context = &contest},
        .now = calloc((size_t)options->clients, sizeof *contest.now),
    };
    if (!contest.now)
        err(2, "contest");
    askers_open(&contest.askers, options);
    int64_t start = clock_ns(), end = start + options->seconds * 1000000000;
    askers_start(&contest.askers);
    for (int64_t left; (left = end - clock_ns()) > 0;)
        askers_serve(&contest.askers, (int)(left / 1000000) + 1, true);
    for (size_t i = 0; i < contest.askers.count; i++)
        keep_turn(&contest, turn_of(&contest, &contest.askers.of[i]));
    print(&contest, start, end);
    askers_close(&contest.askers);
    free(contest.now);
    free(contest.turns);
}
