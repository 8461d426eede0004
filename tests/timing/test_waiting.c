/* How soon those who wait and watch hear of what happens. Each is measured in several rounds, of
 * which the median counts: on a quiet machine. */
#include "locks/watching/prefix.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"
#include "tests/support/quantile.h"

#include <stdio.h>

enum {
    ROUNDS = 5,
    CLAIM_MS = 800,
    LEASE_MS = 1000,
    TTL_MS = 300,
    EXPIRY_REPORTED_MS = 50, /* README */
    PASSED_MS = 100,         /* the bit that a hand-over may take beyond a claim window */
};

static int start(void **state)
{
    fixture_start(state);
    fixture_reopen(*state, CLAIM_MS, LEASE_MS);
    return 0;
}

static char name[24]; /* another one in each round */

/* Measures so often and takes the median. */
static int64_t median(struct locks_fixture *fixture,
                      int64_t (*measure)(struct locks_fixture *fixture, int round))
{
    static int names;
    int64_t took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "n%d", names++);
        took[i] = measure(fixture, i);
    }
    int64_t median = quantile(took, ROUNDS, 50);
    print_message("%d to %d ms, median %d\n", (int)took[0], (int)took[ROUNDS - 1], (int)median);
    return median;
}

struct guest {
    struct answer answer;
    struct waiter *waiter;
    char token[32];
};

static void wait_as(struct guest *guest, struct site *site, const char *who, int round)
{
    *guest = (struct guest){.answer = {.count = 0}};
    snprintf(guest->token, sizeof guest->token, "%s-%020d", who, round);
    struct acquire request = fixture_request(name, guest->token, FIXTURE_TTL_MS);
    const struct acquirer acquirer = {&guest->answer, fixture_is_connected, .queued = NULL};
    request.owner = slice_of(guest->token);
    request.wait_ms = FIXTURE_TTL_MS;
    guest->waiter = locks_wait(site->locks, &request, &acquirer, fixture_answered);
}

static void await_grant(struct locks_fixture *fixture, struct guest *guest)
{
    fixture_await(fixture, &guest->answer.count, 1);
    assert_int_equal(guest->answer.reply.result, LOCKS_DONE);
}

static int64_t expiry_to_waiter(struct locks_fixture *fixture, int round)
{
    struct guest guest;
    int64_t begun = clock_ms();
    fixture_lock(&fixture->here, name, "holder", TTL_MS);
    wait_as(&guest, &fixture->there, "waiter", round);
    await_grant(fixture, &guest);
    return clock_ms() - begun - TTL_MS;
}

static int64_t renewal_to_waiter(struct locks_fixture *fixture, int round)
{
    struct guest guest;
    fixture_lock(&fixture->here, name, "holder", FIXTURE_TTL_MS);
    wait_as(&guest, &fixture->there, "waiter", round);
    fixture_await_queue(&fixture->here, name, 1);
    int64_t begun = clock_ms();
    fixture_renew(&fixture->here, name, "holder", TTL_MS);
    await_grant(fixture, &guest);
    return clock_ms() - begun - TTL_MS;
}

static int64_t expiry_to_watch(struct locks_fixture *fixture, int round)
{
    struct answer answer = {0};
    int64_t begun = clock_ms();
    (void)round;
    struct answer held = fixture_lock(&fixture->there, name, "holder", TTL_MS);
    locks_watch(fixture->here.locks, slice_of(name),
                &(struct watch_for){.after = held.reply.hold.fence}, FIXTURE_TTL_MS,
                fixture_answered, &answer);
    fixture_await(fixture, &answer.count, 1);
    assert_int_equal(answer.reply.view.hold_count, 0);
    return clock_ms() - begun - TTL_MS;
}

struct observed {
    int held;
    int freed;
    int done;
    struct prefix_position reached;
};

static void on_each(void *context, struct slice key, const struct lock_view *view, char **shared)
{
    struct observed *observed = context;
    (void)key, (void)shared;
    observed->held += view->hold_count > 0;
    observed->freed += view->hold_count == 0;
}

static void on_done(void *context, enum locks_result result, const struct prefix_position *reached,
                    bool complete, const char *error)
{
    struct observed *observed = context;
    (void)complete, (void)error;
    assert_int_equal(result, LOCKS_DONE);
    observed->done++;
    observed->reached = *reached;
}

static void watch_prefix(struct locks_fixture *fixture, struct observed *observed,
                         struct prefix_position from, int64_t wait_ms)
{
    const struct prefix_listener listener = {observed, NULL, on_each, on_done};
    *observed = (struct observed){0};
    locks_watch_prefix(fixture->here.locks, slice_of(""), &from, wait_ms, 10, &listener);
    fixture_await(fixture, &observed->done, 1);
}

static int64_t expiry_to_prefix(struct locks_fixture *fixture, int round)
{
    struct observed observed;
    (void)round;
    watch_prefix(fixture, &observed, (struct prefix_position){0}, 0);
    int64_t begun = clock_ms();
    fixture_lock(&fixture->there, name, "holder", TTL_MS);
    do
        watch_prefix(fixture, &observed, observed.reached, FIXTURE_TTL_MS);
    while (observed.freed == 0);
    return clock_ms() - begun - TTL_MS;
}

TEST_WITH(an_expiry_is_reported, start, fixture_stop)
{
    assert_in_range(median(*state, expiry_to_waiter), 0, EXPIRY_REPORTED_MS);
    assert_in_range(median(*state, expiry_to_watch), 0, EXPIRY_REPORTED_MS);
    assert_in_range(median(*state, expiry_to_prefix), 0, EXPIRY_REPORTED_MS);
    assert_in_range(median(*state, renewal_to_waiter), 0, EXPIRY_REPORTED_MS);
}

static int64_t hand_over(struct locks_fixture *fixture, int round)
{
    struct guest guest;
    fixture_lock(&fixture->here, name, "holder", FIXTURE_TTL_MS);
    wait_as(&guest, &fixture->there, "waiter", round);
    fixture_await_queue(&fixture->here, name, 1);
    int64_t begun = clock_ms();
    fixture_release(&fixture->here, name, "holder");
    await_grant(fixture, &guest);
    return clock_ms() - begun;
}

/* Wake-ups dropped while pub/sub reconnects. */
static int64_t hand_over_while_the_inbox_is_cut(struct locks_fixture *fixture, int round)
{
    struct guest guest;
    fixture_lock(&fixture->here, name, "holder", FIXTURE_TTL_MS);
    wait_as(&guest, &fixture->there, "waiter", round);
    fixture_await_queue(&fixture->here, name, 1);
    int listens = fixture->there.listens;
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE pubsub");
    int64_t begun = clock_ms();
    fixture_release(&fixture->here, name, "holder");
    await_grant(fixture, &guest);
    int64_t took = clock_ms() - begun;
    fixture_await(fixture, &fixture->there.listens, listens + 1);
    return took;
}

/* A watch that is older than the lease of its server. */
static int64_t change_after_leases(struct locks_fixture *fixture, int round)
{
    struct answer answer = {0};
    (void)round;
    const struct watch_for what = {.after =
                                       fixture_inspect(&fixture->here, name).reply.view.version};
    locks_watch(fixture->here.locks, slice_of(name), &what, FIXTURE_TTL_MS, fixture_answered,
                &answer);
    fixture_idle(fixture, 5 * LEASE_MS / 2);
    int64_t begun = clock_ms();
    fixture_lock(&fixture->there, name, "holder", FIXTURE_TTL_MS);
    fixture_await(fixture, &answer.count, 1);
    return clock_ms() - begun;
}

TEST_WITH(a_change_is_reported, start, fixture_stop)
{
    assert_in_range(median(*state, hand_over), 0, EXPIRY_REPORTED_MS);
    assert_in_range(median(*state, hand_over_while_the_inbox_is_cut), 0, CLAIM_MS);
    assert_in_range(median(*state, change_after_leases), 0, EXPIRY_REPORTED_MS);
}

/* From the release of a lock, whose grant nobody claims, to the next one's at the other server. */
static int64_t unclaimed(struct locks_fixture *fixture, int round)
{
    struct guest gone, next;
    fixture_lock(&fixture->here, name, "holder", FIXTURE_TTL_MS);
    wait_as(&gone, &fixture->here, "gone", round);
    fixture_await_queue(&fixture->here, name, 1);
    wait_as(&next, &fixture->there, "next", round);
    fixture_await_queue(&fixture->here, name, 2);
    gone.answer.gone = true;
    /* Right after the heartbeat of the next one, it would take longest. */
    fixture_await_calls(&fixture->there, store_figures(fixture->there.store).calls + 1);
    fixture_release(&fixture->there, name, "holder");
    int64_t begun = clock_ms();
    await_grant(fixture, &next);
    int64_t took = clock_ms() - begun - CLAIM_MS;
    locks_abandon(gone.waiter);
    fixture_await_queue(&fixture->here, name, 0);
    return took;
}

TEST_WITH(unclaimed_grant_costs_a_claim_window, start, fixture_stop)
{
    struct locks_fixture *fixture = *state;
    assert_in_range(median(fixture, unclaimed) + 5, 0, PASSED_MS + 5);
    /* One of the same process is suspected as well, and shows that it is there. */
    site_close(&fixture->there);
    site_open(&fixture->there, fixture, 1);
    assert_in_range(median(fixture, unclaimed) + 5, 0, PASSED_MS + 5);
}
