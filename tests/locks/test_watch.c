/* Waiting for a name to change: at once where it has, as soon as it does, and at the end. */
#include "locks/store_events.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <stdlib.h>

static const char HOLDER[] = "holder-0123456789012345";

enum { PATIENCE_MS = FIXTURE_TTL_MS };

static struct watch *watch(struct site *site, struct answer *answer, int64_t after, int64_t wait_ms)
{
    *answer = (struct answer){0};
    struct watch *watch =
        locks_watch(site->locks, slice_of("n"), &(struct watch_for){.after = after}, wait_ms,
                    fixture_answered, answer);
    assert_int_equal(answer->count, 0);
    return watch;
}

static void assert_reported(struct locks_fixture *fixture, struct answer *answer, bool changed)
{
    fixture_await(fixture, &answer->count, 1);
    assert_int_equal(answer->reply.result, LOCKS_DONE);
    assert_int_equal(answer->reply.changed, changed);
}

static int64_t version_of(struct locks_fixture *fixture)
{
    return fixture_inspect(&fixture->here, "n").reply.view.version;
}

/* Grant, renewal (no event), release, expiry and break, made through either server. */
TEST_IN_FIXTURE(every_change_is_reported_as_it_happens)
{
    struct answer answer;
    struct site *sites[] = {&fixture->here, &fixture->there};
    const char *const tokens[][2] = {{"first-of-here-0123456789", "second-of-here-012345678"},
                                     {"first-of-there-012345678", "second-of-there-01234567"}};
    for (size_t i = 0; i < 2; i++) {
        watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
        fixture_settle(&fixture->here);
        fixture_lock(sites[i], "n", tokens[i][0], FIXTURE_TTL_MS);
        assert_reported(fixture, &answer, true);

        watch(&fixture->here, &answer, answer.reply.view.version, PATIENCE_MS);
        fixture_renew(sites[i], "n", tokens[i][0], FIXTURE_TTL_MS / 2);
        fixture_settle(&fixture->here);
        assert_int_equal(answer.count, 0);
        fixture_release(sites[i], "n", tokens[i][0]);
        assert_reported(fixture, &answer, true);
        assert_int_equal(answer.reply.view.hold_count, 0); /* it was this that was told */

        fixture_lock(sites[i], "n", tokens[i][1], FIXTURE_TTL_MS);
        watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
        fixture_settle(&fixture->here);
        fixture_break(sites[i], "n");
        assert_reported(fixture, &answer, true);
    }
}

TEST_IN_FIXTURE(an_expiry_is_reported)
{
    struct answer answer;
    int64_t begun = clock_ms();
    struct answer hold = fixture_lock_and_close(fixture, "n", HOLDER, 300);
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    assert_reported(fixture, &answer, true);
    assert_true(clock_ms() - begun >= 295);
    assert_int_equal(answer.reply.view.hold_count, 0);
    assert_int_equal(answer.reply.view.last_release.fence, hold.reply.hold.fence);
}

/* One look serves them all. */
TEST_IN_FIXTURE(many_watches_cost_one_look)
{
    enum { COUNT = 200 };
    struct answer *answers = calloc(COUNT, sizeof *answers);
    int64_t before = version_of(fixture);
    for (int i = 0; i < COUNT; i++)
        watch(&fixture->here, &answers[i], before, PATIENCE_MS);
    fixture_settle(&fixture->here);
    uint64_t calls = store_figures(fixture->here.store).calls;
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    for (int i = 0; i < COUNT; i++)
        assert_reported(fixture, &answers[i], true);
    assert_in_range(store_figures(fixture->here.store).calls - calls, 1, 3);
    free(answers);
}

/* As streams do, that ask again when they have been told. */
TEST_IN_FIXTURE(watches_that_follow_each_other_cost_one_look_a_change)
{
    enum { CHANGES = 20, STREAMS = 2 };
    struct answer answers[STREAMS];
    struct watch *watches[STREAMS];
    int64_t known = version_of(fixture);
    for (int i = 0; i < STREAMS; i++)
        watches[i] = watch(&fixture->here, &answers[i], known, PATIENCE_MS);
    fixture_settle(&fixture->here);
    uint64_t calls = store_figures(fixture->here.store).calls;
    for (int change = 0; change < CHANGES; change++) {
        if (change % 2 == 0)
            fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
        else
            fixture_break(&fixture->there, "n");
        for (int i = 0; i < STREAMS; i++) {
            assert_reported(fixture, &answers[i], true);
            known = answers[i].reply.view.version;
            watches[i] = watch(&fixture->here, &answers[i], known, PATIENCE_MS);
        }
    }
    assert_in_range(store_figures(fixture->here.store).calls - calls, CHANGES, CHANGES + 1);
    for (int i = 0; i < STREAMS; i++)
        locks_unwatch(watches[i]);
}

TEST_IN_FIXTURE(a_change_between_two_watches_is_reported)
{
    struct answer answer;
    int64_t known = version_of(fixture);
    for (int pause_ms = 0; pause_ms < 50; pause_ms += 10) {
        watch(&fixture->here, &answer, known, PATIENCE_MS);
        fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
        assert_reported(fixture, &answer, true);
        known = answer.reply.view.version;
        fixture_break(&fixture->there, "n");
        if (pause_ms > 0)
            fixture_idle(fixture, pause_ms);
        watch(&fixture->here, &answer, known, PATIENCE_MS);
        assert_reported(fixture, &answer, true);
        assert_int_equal(answer.reply.view.hold_count, 0);
        known = answer.reply.view.version;
    }
}

TEST_IN_FIXTURE(a_server_that_stops_does_not_wait_for_the_next_watch)
{
    struct answer answer;
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    assert_reported(fixture, &answer, true);
    assert_false(locks_are_settled(fixture->here.locks));
    locks_drain(fixture->here.locks);
    assert_true(locks_are_settled(fixture->here.locks));
}

/* The second watch has not asked Redis itself. */
TEST_IN_FIXTURE(a_change_while_the_inbox_was_cut_is_reported_to_a_watch_that_follows)
{
    struct answer answer;
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    assert_reported(fixture, &answer, true);
    uint64_t calls = store_figures(fixture->here.store).calls;
    watch(&fixture->here, &answer, answer.reply.view.version, PATIENCE_MS);
    assert_int_equal(store_figures(fixture->here.store).calls, calls);
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE pubsub");
    fixture_break(&fixture->there, "n");
    assert_reported(fixture, &answer, true);
    assert_int_equal(answer.reply.view.hold_count, 0);
}

static void notify(struct locks *locks, const char *message)
{
    struct store_events events = store_events_of(locks);
    events.message(events.context, 0, slice_of(message));
}

/* What the look may not have seen yet is not forgotten with the watch that it was for. */
TEST_IN_FIXTURE(a_change_notified_while_nobody_watches_makes_the_next_one_look)
{
    struct answer answer, gone;
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    assert_reported(fixture, &answer, true);
    int64_t known = answer.reply.view.version;
    locks_unwatch(watch(&fixture->here, &gone, known, 0)); /* its look is under way */
    notify(fixture->here.locks, "c 9000000000000000 baton:{n}");
    fixture_settle(&fixture->here);
    uint64_t calls = store_figures(fixture->here.store).calls;
    struct watch *next = watch(&fixture->here, &answer, known, PATIENCE_MS);
    assert_int_equal(store_figures(fixture->here.store).calls, calls + 1);
    locks_unwatch(next);
    fixture_settle(&fixture->here);
}

/* As a watch that has looked itself: it waits until Redis is back. */
TEST_IN_FIXTURE(a_watch_that_did_not_look_outlives_a_look_that_failed)
{
    struct answer answer;
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    assert_reported(fixture, &answer, true);
    watch(&fixture->here, &answer, answer.reply.view.version, PATIENCE_MS);
    redis_process_freeze(&fixture->redis);
    notify(fixture->here.locks, "c 9000000000000000 baton:{n}");
    fixture_await(fixture, &fixture->here.downs, 1);
    redis_process_thaw(&fixture->redis);
    assert_int_equal(answer.count, 0);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (fixture_break(&fixture->there, "n").reply.result != LOCKS_DONE && clock_ms() < deadline)
        fixture_settle(&fixture->here);
    assert_reported(fixture, &answer, true);
    assert_int_equal(answer.reply.view.hold_count, 0);
}

/* Watching costs nothing for longer than it lasts: a watched name that is free goes, too. */
TEST_IN_FIXTURE(a_watch_outlives_the_lease)
{
    struct answer answer;
    fixture_reopen(fixture, FIXTURE_CLAIM_MS, 400);
    watch(&fixture->here, &answer, version_of(fixture), PATIENCE_MS);
    fixture_await_calls(&fixture->here, store_figures(fixture->here.store).calls + 5);
    fixture_lock(&fixture->there, "n", HOLDER, FIXTURE_TTL_MS);
    assert_reported(fixture, &answer, true);
}

TEST_IN_FIXTURE(a_drain_answers_who_watches)
{
    struct answer answer, late;
    int64_t version = version_of(fixture);
    watch(&fixture->here, &answer, version, PATIENCE_MS);
    fixture_settle(&fixture->here);
    locks_drain(fixture->here.locks);
    assert_reported(fixture, &answer, false);
    watch(&fixture->here, &late, version, PATIENCE_MS);
    assert_reported(fixture, &late, false);
}

TEST_IN_FIXTURE(without_redis_a_watch_is_refused_at_once)
{
    struct answer answer;
    redis_process_freeze(&fixture->redis);
    watch(&fixture->here, &answer, 0, PATIENCE_MS);
    fixture_await(fixture, &answer.count, 1);
    assert_int_equal(answer.reply.result, LOCKS_UNAVAILABLE);
    redis_process_thaw(&fixture->redis);
}
