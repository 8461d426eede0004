/* Two replicas behind haproxy that are restarted again and again, one after the other, while
 * hundreds of clients wait with keep_ms and repeat their requests with their tokens, whatever went
 * wrong: each is granted the lock, in its order, and no request fails for good. */
#include "tests/chaos/crew.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <signal.h>

/* The claim window is as a deployment that restarts needs it: longer than any client is away. */
enum { WAITERS = 500, NAMES = 5, TIMEOUT_MS = 60000, HEALTHY_MS = 700, WINDOW_MS = 10000 };

static struct part waiter_of(struct crew *crew, int name)
{
    return (struct part){.name = name,
                         .way = BY_HAPROXY,
                         .ttl_ms = 20000,
                         .wait_ms = 30000,
                         .keep_ms = 20000,
                         .foothold = true,
                         .patient = true,
                         .hold_us = 1000 + stage_draw(crew->stage, 20000),
                         .pause_us = 20000 + stage_draw(crew->stage, 50000)};
}

static size_t waiting(const struct crew *crew)
{
    return crew->count - crew_count(crew, DONE_WELL) - crew_count(crew, FAILED);
}

/* Keeps so many waiting. */
static void fill_up(struct crew *crew)
{
    for (size_t i = waiting(crew); i < WAITERS; i++) {
        struct part part = waiter_of(crew, (int)stage_draw(crew->stage, NAMES));
        crew_send(crew, &part);
        if (i % 20 == 0)
            crew_play(crew, 1);
    }
}

static void restart(struct stage *stage, struct crew *crew, int replica)
{
    crew_disturb(crew, replica);
    process_signal(&stage->batond[replica].process, SIGTERM);
    int64_t until = clock_ms() + TIMEOUT_MS;
    while (!process_wait(&stage->batond[replica].process, 0) && clock_ms() < until)
        crew_play(crew, 5);
    stage_end(stage, replica);
    stage_launch(stage, replica);
    while (!stage_listens(stage, replica, 0) && clock_ms() < until)
        crew_play(crew, 5);
    crew_play(crew, HEALTHY_MS); /* haproxy has to see it, too */
    crew_calm(crew, replica);
}

/* Who is away at its turn has the claim window to come back in: as nobody was for so long, nobody
 * may have been passed. */
static void assert_in_order(const struct crew *crew)
{
    size_t passed = crew_count_passed(crew);
    print_message("%zu were granted the lock before one that was there first\n", passed);
    print_message("the longest that one was away: %" PRId64 " ms\n", crew->longest_away / 1000);
    if (crew->longest_away >= WINDOW_MS * 1000) {
        crew_print(crew->longest_away_member);
        fail_msg("away for longer than the claim window");
    }
    assert_int_equal(passed, 0);
}

static void report_failures(struct crew *crew)
{
    size_t shown = 0;
    for (size_t i = 0; i < crew->count; i++)
        if (crew->members[i]->act != DONE_WELL && shown++ < 3)
            crew_print(crew->members[i]);
}

TEST(rolling_restarts_cost_nobody_its_place)
{
    struct stage stage;
    struct crew crew;
    size_t most = 0, repeats = 0;
    int count = stage_amount(100, 6);
    stage_start(&stage, &(struct stage_options){.fronts = true, .claim_ms = WINDOW_MS});
    crew_start(&crew, &stage);
    for (int i = 0; i < count; i++) {
        fill_up(&crew);
        restart(&stage, &crew, i % REPLICAS);
    }
    bool finished = crew_finish(&crew, TIMEOUT_MS);
    for (size_t i = 0; i < crew.count; i++) {
        size_t requests = (size_t)crew.members[i]->requests;
        most = requests > most ? requests : most;
        repeats += requests - 3; /* for its foothold, for the lock, and the release */
    }
    print_message("%d restarts, %zu clients, %zu requests repeated, at most %zu by one client\n",
                  count, crew.count, repeats, most);
    report_failures(&crew);
    assert_true(finished);
    assert_int_equal(crew_count(&crew, DONE_WELL), crew.count);
    assert_in_order(&crew);
    crew_check(&crew);
    for (int i = 0; i < NAMES; i++)
        stage_await_free(&stage, i, WAITER_LEASE_MS + 2 * WINDOW_MS);
    stage_assert_no_leak(&stage);
    crew_free(&crew);
    stage_stop(&stage);
}
