/* Holds that expire: each is told of once, by the server whose script found it, whatever that was
 * asked for. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 100, PATIENCE_MS = 10000 };

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

/* True where it was told by the one that asked; where the machine is slow, the one that granted it
 * may have looked before. */
static bool is_found(struct locks_fixture *fixture, void (*find)(struct site *site))
{
    redis_process_flush(&fixture->redis);
    fixture->here.expired = fixture->there.expired = (struct expiries_told){0};
    struct answer held = fixture_lock(&fixture->here, "n", "token", TTL_MS);
    fixture_idle(fixture, TTL_MS + 10);
    find(&fixture->there);
    const struct expiries_told *told = &fixture->there.expired;
    bool found = told->count > 0;
    if (found) {
        assert_string_equal(told->name, "n");
        assert_string_equal(told->owner, "somebody");
        assert_int_equal(told->mode, LOCK_EXCLUSIVE);
        assert_int_equal(told->fence, held.reply.hold.fence);
        assert_int_equal(told->held_ms, TTL_MS);
    }
    fixture_inspect(&fixture->there, "n");
    fixture_inspect(&fixture->here, "n");
    assert_int_equal(told->count + fixture->here.expired.count, 1);
    return found;
}

static void whoever_finds_it_tells(void **state)
{
    static void (*const FINDERS[])(struct site *) = {inspect, acquire, wait,     watch,    renew,
                                                     release, list,    break_it, take_back};
    for (size_t i = 0; i < sizeof FINDERS / sizeof FINDERS[0]; i++) {
        int tries = 0;
        while (!is_found(*state, FINDERS[i]))
            assert_true(++tries < 10);
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
    for (int i = 0; i < 2; i++) /* one is granted it, whichever came first, the other is not */
        fixture_await(fixture, &answers[i].count, 1);
    assert_int_equal(fixture->here.expired.count + fixture->there.expired.count, 1);
}

static void note_queued(void *context, struct slice name)
{
    struct answer *answer = context;
    (void)name;
    answer->queued++;
}

/* Until nobody has the name, not even for the claim window. */
static void await_free(struct site *site)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    while (fixture_inspect(site, "n").reply.view.hold_count > 0) {
        assert_true(clock_ms() < until);
        fixture_idle(site->fixture, 10);
    }
}

/* A grant that nobody claims is a hold of which nobody was told. */
static void what_was_never_claimed_is_not_told(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "token", 30000);
    struct answer waiting = {.gone = false};
    struct acquire request = fixture_request("n", "w", 30000);
    const struct acquirer acquirer = {&waiting, fixture_is_connected, .queued = note_queued};
    request.owner = slice_of("w");
    request.wait_ms = 60000;
    struct waiter *waiter = locks_wait(fixture->there.locks, &request, &acquirer, fixture_answered);
    fixture_await(fixture, &waiting.queued, 1);
    waiting.gone = true;
    int looks = waiting.looks;
    struct answer released = fixture_release(&fixture->here, "n", "token");
    fixture_await(fixture, &waiting.looks, looks + 1); /* its turn has come */
    await_free(&fixture->here);
    struct answer seen = fixture_inspect(&fixture->here, "n");
    assert_true(seen.reply.view.version > released.reply.release.version);
    assert_int_equal(fixture->here.expired.count + fixture->there.expired.count, 0);
    assert_int_equal(waiting.count, 0);
    locks_abandon(waiter);
}

/* Nobody asks for the name again. */

enum {
    IN_TIME_MS = 1000, /* what is done to a hold before it ends is done within this */
    QUIET_MS = 800     /* in which it would be told again */
};

static int told(const struct locks_fixture *fixture)
{
    return fixture->here.expired.count + fixture->there.expired.count;
}

/* That so many are told of in all after so long, and no more. */
static void await_told(struct locks_fixture *fixture, int ms, int count)
{
    int64_t until = clock_ms() + ms + PATIENCE_MS;
    while (told(fixture) < count && clock_ms() < until)
        fixture_idle(fixture, 10);
    assert_int_equal(told(fixture), count);
}

static void whoever_granted_it_notices(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    await_told(fixture, TTL_MS, 1);
    assert_int_equal(fixture->here.expired.count, 1);
    assert_int_equal(fixture->here.expired.held_ms, TTL_MS);
    fixture_idle(fixture, QUIET_MS);
    assert_int_equal(told(fixture), 1);
}

/* So do those who waited for it, and those who renewed it, though not for what they left in time.
 */
static void what_was_released_elsewhere_is_not_told(void **state)
{
    static const char *const NAMES[] = {"n", "m", "o", "left"};
    struct locks_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        fixture_lock(&fixture->here, NAMES[i], "token", IN_TIME_MS);
    fixture_release(&fixture->there, "n", "token");
    fixture_release(&fixture->here, "m", "token");
    fixture_break(&fixture->here, "o");
    await_told(fixture, IN_TIME_MS, 1);
    fixture_idle(fixture, QUIET_MS);
    assert_int_equal(told(fixture), 1);
    assert_string_equal(fixture->here.expired.name, "left");
}

static void what_was_renewed_elsewhere_is_told_once_at_its_new_end(void **state)
{
    enum { LONGER_MS = IN_TIME_MS + 1500 };
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "token", IN_TIME_MS);
    int64_t ends = clock_ms() + LONGER_MS;
    assert_int_equal(fixture_renew(&fixture->there, "n", "token", LONGER_MS).reply.result,
                     LOCKS_DONE);
    while (told(fixture) == 0 && clock_ms() < ends)
        fixture_idle(fixture, 10);
    assert_true(clock_ms() >= ends);
    await_told(fixture, 0, 1);
    fixture_idle(fixture, QUIET_MS);
    assert_int_equal(told(fixture), 1);
}

/* One of them ends, and is told, long before the other. */
static void each_of_those_that_share_it_is_told(void **state)
{
    enum { LATER_MS = 2000 };
    struct locks_fixture *fixture = *state;
    for (int i = 0; i < 2; i++) {
        struct acquire request = fixture_request("n", i ? "later" : "soon", i ? LATER_MS : TTL_MS);
        request.owner = request.token;
        request.mode = LOCK_SHARED;
        assert_int_equal(fixture_acquire(&fixture->here, &request).reply.result, LOCKS_DONE);
    }
    await_told(fixture, TTL_MS, 1);
    assert_string_equal(fixture->here.expired.owner, "soon");
    await_told(fixture, LATER_MS, 2);
    assert_string_equal(fixture->here.expired.owner, "later");
}

/* A wait that was granted by a message, and one that was granted by the reply to a release. */
static void what_was_waited_for_is_noticed(void **state)
{
    struct locks_fixture *fixture = *state;
    struct site *releasers[] = {&fixture->here, &fixture->there};
    for (int i = 0; i < 2; i++) {
        struct answer answer = {0};
        fixture_lock(&fixture->there, "n", i ? "a" : "b", 30000);
        struct acquire request = fixture_request("n", i ? "v" : "w", TTL_MS);
        const struct acquirer acquirer = {&answer, fixture_is_connected, .queued = NULL};
        request.owner = slice_of("another");
        request.wait_ms = 5000;
        locks_wait(fixture->here.locks, &request, &acquirer, fixture_answered);
        fixture_idle(fixture, 100);
        fixture_release(releasers[i], "n", i ? "a" : "b");
        fixture_await(fixture, &answer.count, 1);
        await_told(fixture, TTL_MS, i + 1);
        assert_int_equal(fixture->here.expired.count, i + 1);
    }
}

/* Whoever releases twice has nothing to do with who got the name in between. */
static void a_repeated_release_forgets_no_other_hold(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", "first", 30000);
    fixture_release(&fixture->here, "n", "first");
    fixture_lock(&fixture->here, "n", "second", TTL_MS * 5);
    assert_true(fixture_release(&fixture->here, "n", "first").reply.release.repeated);
    await_told(fixture, TTL_MS * 5, 1);
}

/* A key of somebody else's, by the name's own key, fails alone. */
static void a_foreign_key_does_not_hide_the_others(void **state)
{
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "foreign", "token", TTL_MS);
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    freeReplyObject(redis_process_command(&fixture->redis, "DEL baton:{foreign}"));
    freeReplyObject(redis_process_command(&fixture->redis, "RPUSH baton:{foreign} x"));
    await_told(fixture, TTL_MS, 1);
    assert_string_equal(fixture->here.expired.name, "n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_start, fixture_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whoever_finds_it_tells),
        TEST(two_that_wait_are_told_once_in_all),
        TEST(what_was_never_claimed_is_not_told),
        TEST(whoever_granted_it_notices),
        TEST(what_was_released_elsewhere_is_not_told),
        TEST(what_was_renewed_elsewhere_is_told_once_at_its_new_end),
        TEST(each_of_those_that_share_it_is_told),
        TEST(what_was_waited_for_is_noticed),
        TEST(a_repeated_release_forgets_no_other_hold),
        TEST(a_foreign_key_does_not_hide_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
