/* Holds that the server keeps alive: renewed in time, tried again, given up, and stopped. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <stdio.h>
#include <string.h>

static const char TOKEN[] = "0123456789012345678901";

/* An end by time is the subject of some: it is not to come while the machine makes others wait. */
enum { TTL_MS = 3000 };

struct kept {
    struct locks_fixture *fixture;
    struct renewer *renewer; /* NULL once it is gone */
    int renewed;
    int lost;
    int stop_at; /* stops the renewer at the so-many-th renewal */
    int64_t fence;
    int64_t ttl_ms;
    int64_t lost_ms; /* when, by clock_ms */
    char why[120];
};

static void on_renewed(void *context, const struct hold *hold)
{
    struct kept *kept = context;
    assert_non_null(kept->renewer);
    kept->renewed++;
    kept->fence = hold->fence;
    kept->ttl_ms = hold->ttl_ms;
    if (kept->renewed == kept->stop_at) {
        renewer_stop(kept->renewer);
        kept->renewer = NULL;
    }
}

static void on_lost(void *context, const char *why, const struct hold_end *end)
{
    struct kept *kept = context;
    (void)end;
    assert_non_null(kept->renewer);
    kept->lost++;
    kept->lost_ms = clock_ms();
    snprintf(kept->why, sizeof kept->why, "%s", why);
    kept->renewer = NULL;
}

static void keep_for(struct kept *kept, struct locks_fixture *fixture, const char *token,
                     int64_t remaining_ms)
{
    const struct renewer_events events = {kept, on_renewed, on_lost};
    kept->fixture = fixture;
    kept->renewer = renewer_start(fixture->here.locks, slice_of("n"), slice_of(token), remaining_ms,
                                  0, &events);
}

static void keep(struct kept *kept, struct locks_fixture *fixture, int64_t remaining_ms)
{
    keep_for(kept, fixture, TOKEN, remaining_ms);
}

static void stop(struct kept *kept)
{
    renewer_stop(kept->renewer);
    kept->renewer = NULL;
}

TEST_IN_FIXTURE(a_hold_lives_as_long_as_it_is_kept)
{
    struct kept kept = {0};
    int64_t begun = clock_ms(); /* before the loop looks at its clock, from when the first counts */
    struct answer hold = fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    keep(&kept, fixture, TTL_MS);
    fixture_await(fixture, &kept.renewed, 4);
    assert_true(clock_ms() - begun >= 4 * TTL_MS / 3 - 20); /* a third each */
    assert_int_equal(kept.fence, hold.reply.hold.fence);
    assert_int_equal(kept.ttl_ms, TTL_MS);
    assert_true(fixture_remaining(&fixture->there, "n") > 0);

    stop(&kept);
    fixture_await_free(&fixture->there, "n");
    assert_int_equal(kept.renewed, 4);
    assert_int_equal(kept.lost, 0);
}

/* A repeated request finds its hold with little time left, which then is kept with its own TTL. */
TEST_IN_FIXTURE(a_hold_with_little_left_is_renewed_soon)
{
    enum { LITTLE_MS = TTL_MS };
    struct kept kept = {0};
    fixture_lock(&fixture->here, "n", TOKEN, FIXTURE_TTL_MS);
    keep(&kept, fixture, LITTLE_MS);
    fixture_await(fixture, &kept.renewed, 1);
    assert_int_equal(kept.ttl_ms, FIXTURE_TTL_MS);
    fixture_idle(fixture, LITTLE_MS);
    assert_int_equal(kept.renewed, 1); /* the next is due after a third of that */
    stop(&kept);
}

/* With FIXTURE_TTL_MS no renewal is due while a test goes on. */
TEST_IN_FIXTURE(connection_learns_at_once_who_else_ends_its_hold)
{
    struct acquire request = fixture_request("n", TOKEN, FIXTURE_TTL_MS);
    request.of_connection = true;
    for (int i = 0; i < 2; i++) {
        struct kept kept = {0};
        fixture_acquire(&fixture->here, &request);
        keep(&kept, fixture, FIXTURE_TTL_MS);
        if (i == 0)
            fixture_break(&fixture->there, "n");
        else
            fixture_release(&fixture->there, "n", TOKEN);
        fixture_await(fixture, &kept.lost, 1);
        assert_int_equal(kept.renewed, 0);
    }
}

TEST_IN_FIXTURE(hold_of_connection_in_hold_set_is_lost_at_once)
{
    static const char OTHER[] = "another-token-0123456789";
    struct kept broken = {0}, released = {0};
    const char *const tokens[] = {TOKEN, OTHER};
    struct kept *const all[] = {&broken, &released};
    for (int i = 0; i < 2; i++) {
        struct acquire request = fixture_request("n", tokens[i], FIXTURE_TTL_MS);
        request.of_connection = true;
        request.mode = LOCK_SHARED;
        fixture_acquire(&fixture->here, &request);
        keep_for(all[i], fixture, tokens[i], FIXTURE_TTL_MS);
    }
    fixture_release(&fixture->there, "n", OTHER);
    fixture_await(fixture, &released.lost, 1);
    fixture_settle(&fixture->here);
    assert_int_equal(broken.renewed, 0); /* nor has the other one of the name asked */
    fixture_break(&fixture->there, "n");
    fixture_await(fixture, &broken.lost, 1);
}

static void on_silent(void *context, int64_t left_ms)
{
    (void)context;
    (void)left_ms;
}

/* Keeps a hold that is renewed each 200 ms, and has been once. */
static void keep_bounded(struct kept *kept, struct locks_fixture *fixture, int64_t max_held_ms)
{
    enum { SILENCE_MS = 300 };
    struct acquire request = fixture_request("n", TOKEN, FIXTURE_TTL_MS);
    request.of_connection = true;
    request.max_held_ms = max_held_ms;
    fixture_acquire(&fixture->here, &request);
    keep(kept, fixture, FIXTURE_TTL_MS);
    renewer_beat(kept->renewer, SILENCE_MS, on_silent);
    fixture_await(fixture, &kept->renewed, 1);
}

/* It ends by the clock of Redis, which may be ahead: here by ten minutes. */
TEST_IN_FIXTURE(end_by_max_held_is_reported_before_own_clock_has_it)
{
    struct kept kept = {0};
    keep_bounded(&kept, fixture, FIXTURE_TTL_MS);
    freeReplyObject(redis_process_command(&fixture->redis, "DEL baton:{n}"));
    fixture_await(fixture, &kept.lost, 1);
    assert_non_null(strstr(kept.why, "max_held"));
}

/* The message about it comes before the next renewal. */
TEST_IN_FIXTURE(break_of_bounded_hold_is_not_reported_as_its_end)
{
    enum { MORE_MS = 50 };
    struct kept kept = {0};
    keep_bounded(&kept, fixture, FIXTURE_TTL_MS + MORE_MS);
    assert_in_range(kept.ttl_ms, 1, FIXTURE_TTL_MS - 1);
    renewer_beat(kept.renewer, 0, on_silent); /* it is renewed no more by itself */
    fixture_break(&fixture->there, "n");
    fixture_await(fixture, &kept.lost, 1);
    assert_non_null(strstr(kept.why, "broken by force"));
}

TEST_IN_FIXTURE(hold_that_redis_has_lost_is_lost_when_it_is_back)
{
    static const char *const TYPES[] = {"normal", "pubsub"};
    for (int i = 0; i < 2; i++) {
        char kill[40];
        struct kept kept = {0};
        fixture_lock(&fixture->here, "n", TOKEN, FIXTURE_TTL_MS);
        keep(&kept, fixture, FIXTURE_TTL_MS);
        freeReplyObject(redis_process_command(&fixture->redis, "DEL baton:{n}"));
        snprintf(kill, sizeof kill, "CLIENT KILL TYPE %s", TYPES[i]);
        redis_process_integer(&fixture->redis, kill);
        fixture_await(fixture, &kept.lost, 1);
        assert_int_equal(kept.renewed, 0);
    }
}

TEST_IN_FIXTURE(a_short_loss_of_redis_loses_nothing)
{
    struct kept kept = {0};
    fixture_lock(&fixture->here, "n", TOKEN, FIXTURE_TTL_MS);
    keep(&kept, fixture, 6000); /* which counts until it has been renewed */
    freeReplyObject(redis_process_command(&fixture->redis, "CONFIG SET maxclients 1"));
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE normal");
    fixture_await(fixture, &fixture->here.downs, 1);
    fixture_idle(fixture, 2200); /* a renewal is due and fails meanwhile */
    assert_int_equal(kept.renewed, 0);
    freeReplyObject(redis_process_command(&fixture->redis, "CONFIG SET maxclients 100"));
    fixture_await(fixture, &kept.renewed, 1); /* it asks every 600 ms */
    assert_int_equal(kept.lost, 0);
    stop(&kept);
}

/* Nobody may believe in a hold for longer than Redis surely keeps it. */
TEST_IN_FIXTURE(a_hold_is_lost_when_it_could_not_be_renewed_in_time)
{
    struct kept kept = {0};
    fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    int64_t begun = clock_ms(); /* before the renewal is sent, from when the TTL counts */
    keep(&kept, fixture, TTL_MS);
    fixture_await(fixture, &kept.renewed, 1);
    redis_process_freeze(&fixture->redis);
    fixture_await(fixture, &kept.lost, 1);
    assert_true(kept.lost_ms - begun >= TTL_MS);
    assert_non_null(strstr(kept.why, "Redis"));
    redis_process_thaw(&fixture->redis);
    while (fixture_inspect(&fixture->here, "n").reply.result != LOCKS_DONE)
        fixture_idle(fixture, 20);
    /* Nothing comes after the end. */
    assert_int_equal(kept.renewed, 1);
    assert_int_equal(kept.lost, 1);
}

TEST_IN_FIXTURE(a_renewer_can_be_stopped_in_its_own_event)
{
    struct kept kept = {.stop_at = 2};
    fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    keep(&kept, fixture, TTL_MS);
    fixture_await(fixture, &kept.renewed, 2);
    fixture_await_free(&fixture->here, "n");
    assert_int_equal(kept.renewed, 2);
    assert_int_equal(kept.lost, 0);
}

static void on_lost_stop(void *context, const char *why, const struct hold_end *end)
{
    struct kept *kept = context;
    renewer_stop(kept->renewer);
    on_lost(context, why, end);
}

TEST_IN_FIXTURE(a_lost_renewer_can_be_stopped_in_its_event)
{
    struct kept kept = {0};
    const struct renewer_events events = {&kept, on_renewed, on_lost_stop};
    kept.renewer =
        renewer_start(fixture->here.locks, slice_of("n"), slice_of(TOKEN), 100, 0, &events);
    fixture_await(fixture, &kept.lost, 1);
    assert_int_equal(kept.renewed, 0); /* nobody held it */
}

TEST_IN_FIXTURE(a_renewer_can_be_stopped_with_a_renewal_under_way)
{
    struct kept kept = {0};
    fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    uint64_t calls = store_figures(fixture->here.store).calls;
    keep(&kept, fixture, TTL_MS);
    redis_process_freeze(&fixture->redis);
    fixture_await_calls(&fixture->here, calls + 1);
    stop(&kept);
    fixture_idle(fixture, 20); /* the timer is closed by now */
    redis_process_thaw(&fixture->redis);
    fixture_settle(&fixture->here);
    assert_int_equal(kept.renewed, 0);
    assert_int_equal(kept.lost, 0);
}

/* Whoever keeps a hold for a client that was not told of it yet can still take it back. */
TEST_IN_FIXTURE(a_kept_hold_can_still_be_taken_back)
{
    struct kept kept = {0};
    struct answer hold = fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    keep(&kept, fixture, TTL_MS);
    fixture_await(fixture, &kept.renewed, 2);
    stop(&kept);
    locks_take_back(fixture->here.locks, slice_of("n"), slice_of(TOKEN), &hold.reply.attempt, 0);
    assert_int_equal(fixture_remaining(&fixture->here, "n"), 0);
    fixture_lock(&fixture->here, "n", TOKEN, TTL_MS); /* and has left no trace */
}
