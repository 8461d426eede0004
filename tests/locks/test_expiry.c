/* Holds that expire: each is told of once, by the server whose script found it, whatever that was
 * asked for. */
#include "tests/locks/locks_fixture.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 100 };

struct told {
    struct locks_listener listener;
    int done;
};

static void ignore_lock(void *context, struct slice name, const struct lock_view *view)
{
    (void)context, (void)name, (void)view;
}

static void on_listed(void *context, enum locks_result result, struct slice next, const char *error)
{
    struct told *told = context;
    (void)next, (void)error;
    assert_int_equal(result, LOCKS_DONE);
    told->done++;
}

static void list(struct site *site)
{
    struct told told = {{.each = ignore_lock, .done = on_listed}, 0};
    told.listener.context = &told;
    assert_int_equal(locks_list(site->locks, slice_of(""), slice_of(NULL), 10, &told.listener), 0);
    fixture_await(site->fixture, &told.done, 1);
}

static void inspect(struct site *site)
{
    fixture_inspect(site, "n");
}

static void acquire(struct site *site)
{
    assert_int_equal(fixture_lock(site, "n", "next", 30000).reply.hold.holds, 1);
}

static void wait(struct site *site)
{
    struct answer answer = {0};
    struct acquire request = fixture_request("n", "next", 30000);
    const struct acquirer acquirer = {&answer, fixture_is_connected, .queued = NULL};
    request.wait_ms = 5000;
    locks_wait(site->locks, &request, &acquirer, fixture_answered);
    fixture_await(site->fixture, &answer.count, 1);
    assert_int_equal(answer.reply.result, LOCKS_DONE);
}

static void watch(struct site *site)
{
    struct answer answer = {0};
    locks_watch(site->locks, slice_of("n"), slice_of(NULL), 1, 5000, fixture_answered, &answer);
    fixture_await(site->fixture, &answer.count, 1);
    assert_int_equal(answer.reply.result, LOCKS_DONE);
}

static void renew(struct site *site)
{
    assert_int_equal(fixture_renew(site, "n", "token", 0).reply.result, LOCKS_NOT_HELD);
}

static void release(struct site *site)
{
    assert_int_equal(fixture_release(site, "n", "token").reply.result, LOCKS_NOT_HELD);
}

static void break_it(struct site *site)
{
    assert_int_equal(fixture_break(site, "n").reply.broken.count, 0);
}

static void take_back(struct site *site)
{
    const struct attempt attempt = {"0123456789abcdef"};
    locks_take_back(site->locks, slice_of("n"), slice_of("token"), &attempt, 0);
    for (int i = 0; i < 100 && !locks_are_settled(site->locks); i++)
        fixture_idle(site->fixture, 10);
}

static void whoever_finds_it_tells(void **state)
{
    static void (*const FINDERS[])(struct site *) = {inspect, acquire, wait,     watch,    renew,
                                                     release, list,    break_it, take_back};
    struct locks_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof FINDERS / sizeof FINDERS[0]; i++) {
        redis_process_flush(&fixture->redis);
        fixture->there.expired = (struct expiries_told){0};
        int before = fixture->here.expired.count;
        struct answer held = fixture_lock(&fixture->here, "n", "token", TTL_MS);
        fixture_idle(fixture, TTL_MS + 10);
        FINDERS[i](&fixture->there);
        const struct expiries_told *told = &fixture->there.expired;
        assert_int_equal(told->count, 1);
        assert_string_equal(told->name, "n");
        assert_string_equal(told->owner, "somebody");
        assert_int_equal(told->mode, LOCK_EXCLUSIVE);
        assert_int_equal(told->fence, held.reply.hold.fence);
        assert_int_equal(told->held_ms, TTL_MS);
        fixture_inspect(&fixture->there, "n");
        fixture_inspect(&fixture->here, "n");
        assert_int_equal(fixture->there.expired.count, 1);
        assert_int_equal(fixture->here.expired.count, before);
    }
}

/* Somebody waits at each of two servers, so both look after the end of the hold. */
static void two_that_wait_are_told_once_in_all(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    struct answer answers[2] = {{.count = 0}};
    struct site *sites[] = {&fixture->here, &fixture->there};
    for (int i = 0; i < 2; i++) {
        char token[] = {'w', (char)('0' + i), '\0'};
        struct acquire request = fixture_request("n", token, 30000);
        const struct acquirer acquirer = {&answers[i], fixture_is_connected, .queued = NULL};
        request.owner = slice_of(token);
        request.wait_ms = 600;
        locks_wait(sites[i]->locks, &request, &acquirer, fixture_answered);
    }
    fixture_await(fixture, &answers[1].count, 1);
    assert_int_equal(fixture->here.expired.count + fixture->there.expired.count, 1);
}

/* A grant that nobody claims is a hold of which nobody was told. */
static void what_was_never_claimed_is_not_told(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    struct answer waiting = {.gone = false};
    struct acquire request = fixture_request("n", "w", 30000);
    const struct acquirer acquirer = {&waiting, fixture_is_connected, .queued = NULL};
    request.owner = slice_of("w");
    request.wait_ms = 5000;
    struct waiter *waiter = locks_wait(fixture->there.locks, &request, &acquirer, fixture_answered);
    fixture_idle(fixture, TTL_MS / 2);
    waiting.gone = true;
    fixture_idle(fixture, TTL_MS + FIXTURE_CLAIM_MS + 100);
    fixture_inspect(&fixture->here, "n");
    assert_int_equal(fixture->here.expired.count + fixture->there.expired.count, 1);
    locks_abandon(waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whoever_finds_it_tells, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(two_that_wait_are_told_once_in_all, fixture_start,
                                        fixture_stop),
        cmocka_unit_test_setup_teardown(what_was_never_claimed_is_not_told, fixture_start,
                                        fixture_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
