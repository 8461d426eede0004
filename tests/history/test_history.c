/* Many clients at two servers, and all that they saw held against what Baton promises.
 *
 *   BATON_SEED             the choices of an earlier run, which printed it (a number)
 *   BATON_HISTORY_SECONDS  how long the clients run (8)
 */
#include "tests/history/checker.h"
#include "tests/history/crowd.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 16, SECONDS = 8, STEPS = 250 };

static int64_t duration_ms(void)
{
    const char *given = getenv("BATON_HISTORY_SECONDS");
    int seconds = given ? atoi(given) : SECONDS;
    return 1000 * (int64_t)(seconds > 0 ? seconds : SECONDS);
}

/* What an operator, or a bad day, does to Redis. */
static void disturb(void *context, int quarter)
{
    struct pair *pair = context;
    const char *command = quarter == 2 ? "CLIENT KILL TYPE normal SKIPME yes" : "FUNCTION FLUSH";
    freeReplyObject(redis_process_command(&pair->redis, command));
}

/* A run in which something never happened has not tested it. */
static void assert_all_happened(const struct record *history)
{
    static const struct {
        enum operation operation;
        enum outcome outcome;
        const char *text;
    } EXPECTED[] = {
        {ACQUIRE, DONE, "acquired"},
        {ACQUIRE, HOLDING, "acquire repeated"},
        {ACQUIRE, LOCKED, "locked"},
        {ACQUIRE, TOKEN_IN_USE, "token in use"},
        {ACQUIRE, NOT_HELD, "acquire after release"},
        {ACQUIRE, UNKNOWN, "acquire without a reply"},
        {RENEW, DONE, "renewed"},
        {RENEW, NOT_HELD, "not renewed"},
        {RELEASE, DONE, "released"},
        {RELEASE, NOT_HELD, "not released"},
        {BREAK, DONE, "broken"},
        {INSPECT, DONE, "inspected"},
        {INSPECT, UNCHANGED, "unchanged"},
    };
    size_t counts[OPERATIONS][OUTCOMES] = {{0}};
    for (size_t i = 0; i < history->count; i++)
        counts[history->events[i].operation][history->events[i].outcome]++;
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++)
        print_message("  %zu %s\n", counts[EXPECTED[i].operation][EXPECTED[i].outcome],
                      EXPECTED[i].text);
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++)
        if (counts[EXPECTED[i].operation][EXPECTED[i].outcome] == 0)
            fail_msg("never %s", EXPECTED[i].text);
}

TEST(clients_see_what_was_promised)
{
    struct pair *pair = *state;
    struct crowd_plan plan = {.seed = seed_choose(),
                              .threads = THREADS,
                              .duration_ms = duration_ms(),
                              .steps = STEPS,
                              .meanwhile = disturb,
                              .context = pair};
    for (int i = 0; i < CROWD_SERVERS; i++) {
        plan.urls[i] = pair->batond[i].url;
        plan.ports[i] = pair->batond[i].port;
    }
    struct record history;
    crowd_run(&plan, &history);

    struct findings findings;
    int64_t begin = clock_ms();
    history_check(history.events, history.count, &findings);
    print_message("%zu operations checked in %" PRId64 " ms\n", history.count, clock_ms() - begin);
    char *text = findings_text(&findings);
    if (findings.total > 0)
        fprintf(stderr, "%sBATON_SEED=%" PRIu64 "\n", text, plan.seed);
    free(text);
    assert_int_equal(findings.total, 0);
    assert_all_happened(&history);
    record_free(&history);
}

RUN_TESTS(pair_start, pair_stop)
