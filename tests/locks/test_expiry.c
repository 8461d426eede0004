/* Holds that expire: each is told of once, by the server whose script found it, whatever that was
 * asked for. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <string.h>

enum { TTL_MS = 100 };

struct reported {
    struct locks_listener listener;
    int done;
};

static void ignore_lock(void *context, struct slice name, const struct lock_view *view)
{
    (void)context, (void)name, (void)view;
}

static void on_listed(void *context, enum locks_result result, struct slice next, const char *error)
{
    struct reported *reported = context;
    (void)next, (void)error;
    assert_int_equal(result, LOCKS_DONE);
    reported->done++;
}

static void list(struct site *site)
{
    struct reported reported = {{.each = ignore_lock, .done = on_listed}, 0};
    reported.listener.context = &reported;
    assert_int_equal(
        locks_list(site->locks, slice_of(""), NULL, slice_of(NULL), 10, &reported.listener), 0);
    fixture_await(site->fixture, &reported.done, 1);
}

static void inspect(struct site *site)
{
    fixture_inspect(site, "n");
}

static void acquire(struct site *site)
{
    assert_int_equal(fixture_lock(site, "n", "next", FIXTURE_TTL_MS).reply.hold.holds, 1);
}

static void wait(struct site *site)
{
    struct answer answer = {0};
    struct acquire request = fixture_request("n", "next", FIXTURE_TTL_MS);
    const struct acquirer acquirer = {&answer, fixture_is_connected, .queued = NULL};
    request.wait_ms = FIXTURE_TTL_MS;
    locks_wait(site->locks, &request, &acquirer, fixture_answered);
    fixture_await(site->fixture, &answer.count, 1);
    assert_int_equal(answer.reply.result, LOCKS_DONE);
}

static void watch(struct site *site)
{
    struct answer answer = {0};
    locks_watch(site->locks, slice_of("n"), &(struct watch_for){.after = 1}, FIXTURE_TTL_MS,
                fixture_answered, &answer);
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
    fixture_await_settled(site);
}

static int reported(const struct locks_fixture *fixture)
{
    return fixture->here.expired.count + fixture->there.expired.count;
}

/* The one that has granted it looks, too, and so is not there any more. */
static void assert_found(struct locks_fixture *fixture, void (*find)(struct site *site))
{
    const struct expiries_reported *reported_there = &fixture->there.expired;
    redis_process_flush(&fixture->redis);
    fixture->there.expired = (struct expiries_reported){0};
    struct answer held = fixture_lock_and_close(fixture, "n", "token", TTL_MS);
    fixture_idle(fixture, TTL_MS + 10);
    find(&fixture->there);
    assert_int_equal(reported_there->count, 1);
    assert_string_equal(reported_there->name, "n");
    assert_string_equal(reported_there->owner, "somebody");
    assert_int_equal(reported_there->mode, LOCK_EXCLUSIVE);
    assert_int_equal(reported_there->fence, held.reply.hold.fence);
    assert_int_equal(reported_there->held_ms, TTL_MS);
    fixture_inspect(&fixture->there, "n");
    fixture_inspect(&fixture->here, "n");
    assert_int_equal(reported(fixture), 1);
}

TEST_IN_FIXTURE(every_operation_reports_an_expiry_that_it_finds)
{
    static void (*const FINDERS[])(struct site *) = {inspect, acquire, wait,     watch,    renew,
                                                     release, list,    break_it, take_back};
    for (size_t i = 0; i < sizeof FINDERS / sizeof FINDERS[0]; i++)
        assert_found(fixture, FINDERS[i]);
}

/* Somebody waits at each of two servers, so both look after the end of the hold. */
TEST_IN_FIXTURE(two_that_wait_are_notified_once_in_all)
{
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    struct answer answers[2] = {{.count = 0}};
    struct waiter *waiters[2];
    struct site *sites[] = {&fixture->here, &fixture->there};
    for (int i = 0; i < 2; i++) {
        char token[] = {'w', (char)('0' + i), '\0'};
        struct acquire request = fixture_request("n", token, FIXTURE_TTL_MS);
        const struct acquirer acquirer = {&answers[i], fixture_is_connected, .queued = NULL};
        request.owner = slice_of(token);
        request.wait_ms = FIXTURE_TTL_MS;
        waiters[i] = locks_wait(sites[i]->locks, &request, &acquirer, fixture_answered);
    }
    while (answers[0].count + answers[1].count == 0)
        fixture_idle(fixture, 5);
    fixture_inspect(&fixture->here, "n");
    fixture_inspect(&fixture->there, "n");
    assert_int_equal(reported(fixture), 1);
    locks_abandon(waiters[answers[0].count ? 1 : 0]);
}

/* A grant that nobody claims is a hold of which nobody was told. */
TEST_IN_FIXTURE(unclaimed_grant_is_not_reported)
{
    fixture_reopen(fixture, 500, FIXTURE_LEASE_MS);
    fixture_lock(&fixture->here, "n", "token", FIXTURE_TTL_MS);
    struct answer waiting = {.gone = false};
    struct acquire request = fixture_request("n", "w", FIXTURE_TTL_MS);
    const struct acquirer acquirer = {&waiting, fixture_is_connected, .queued = fixture_queued};
    request.owner = slice_of("w");
    request.wait_ms = FIXTURE_TTL_MS;
    struct waiter *waiter = locks_wait(fixture->there.locks, &request, &acquirer, fixture_answered);
    fixture_await(fixture, &waiting.queued, 1);
    waiting.gone = true;
    int looks = waiting.looks;
    struct answer released = fixture_release(&fixture->here, "n", "token");
    fixture_await(fixture, &waiting.looks, looks + 1); /* its turn has come */
    fixture_await_free(&fixture->here, "n");
    struct answer seen = fixture_inspect(&fixture->here, "n");
    assert_true(seen.reply.view.version > released.reply.release.version);
    assert_int_equal(reported(fixture), 0);
    assert_int_equal(waiting.count, 0);
    locks_abandon(waiter);
}

/* That so many are told of in all. */
static void await_reported(struct locks_fixture *fixture, int count)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (reported(fixture) < count && clock_ms() < until)
        fixture_idle(fixture, 10);
    assert_int_equal(reported(fixture), count);
}

/* ... and none of what was to end before is told now: a hold that ends later is the next. */
static void assert_no_more(struct locks_fixture *fixture, int count)
{
    fixture_lock(&fixture->here, "later", "token", TTL_MS);
    await_reported(fixture, count + 1);
    assert_string_equal(fixture->here.expired.name, "later");
}

/* Nobody asks for the name again, here and below. */
TEST_IN_FIXTURE(batond_that_granted_notices_the_expiry)
{
    fixture_lock(&fixture->here, "n", "token", TTL_MS);
    await_reported(fixture, 1);
    assert_int_equal(fixture->here.expired.count, 1);
    assert_int_equal(fixture->here.expired.held_ms, TTL_MS);
    assert_no_more(fixture, 1);
}

/* So do those who waited for it, and those who renewed it, though not for what they left in time.
 */
TEST_IN_FIXTURE(hold_ended_or_renewed_elsewhere_is_not_reported)
{
    enum {
        ENDS_MS = 5000,
        ENDS_LATER_MS = 7000
    }; /* the first is longer than what is done before */
    static const char *const NAMES[] = {"n", "m", "o", "renewed", "left"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        fixture_lock(&fixture->here, NAMES[i], "token", ENDS_MS);
    fixture_release(&fixture->there, "n", "token");
    fixture_release(&fixture->here, "m", "token");
    fixture_break(&fixture->here, "o");
    int64_t renewed = clock_ms();
    assert_int_equal(fixture_renew(&fixture->there, "renewed", "token", ENDS_LATER_MS).reply.result,
                     LOCKS_DONE);
    await_reported(fixture, 1);
    assert_string_equal(fixture->here.expired.name, "left");
    await_reported(fixture, 2); /* at its new end */
    assert_true(clock_ms() - renewed >= ENDS_LATER_MS - 5);
    assert_no_more(fixture, 2);
}

/* One of them ends, and is told, before the other. */
TEST_IN_FIXTURE(all_shared_holds_are_reported)
{
    for (int i = 0; i < 2; i++) {
        struct acquire request = fixture_request("n", i ? "later" : "soon", TTL_MS + i * 400);
        request.owner = request.token;
        request.mode = LOCK_SHARED;
        assert_int_equal(fixture_acquire(&fixture->here, &request).reply.result, LOCKS_DONE);
    }
    while (reported(fixture) == 0)
        fixture_idle(fixture, 5);
    if (reported(fixture) == 1)
        assert_string_equal(fixture->here.expired.owner, "soon");
    await_reported(fixture, 2);
    assert_string_equal(fixture->here.expired.owner, "later");
}

TEST_IN_FIXTURE(release_of_one_share_leaves_end_of_other)
{
    for (int i = 0; i < 2; i++) {
        struct acquire request =
            fixture_request("n", i ? "ends" : "released", i ? TTL_MS * 5 : FIXTURE_TTL_MS);
        request.owner = request.token;
        request.mode = LOCK_SHARED;
        assert_int_equal(fixture_acquire(&fixture->here, &request).reply.result, LOCKS_DONE);
    }
    fixture_release(&fixture->here, "n", "released");
    await_reported(fixture, 1);
    assert_string_equal(fixture->here.expired.owner, "ends");
}

/* A wait that was granted by a message, and one that was granted by the reply to a release. */
TEST_IN_FIXTURE(expiry_of_a_hold_that_was_waited_for_is_noticed)
{
    struct site *releasers[] = {&fixture->here, &fixture->there};
    for (int i = 0; i < 2; i++) {
        struct answer answer = {0};
        fixture_lock(&fixture->there, "n", i ? "a" : "b", FIXTURE_TTL_MS);
        struct acquire request = fixture_request("n", i ? "v" : "w", TTL_MS);
        const struct acquirer acquirer = {&answer, fixture_is_connected, .queued = NULL};
        request.owner = slice_of("another");
        request.wait_ms = FIXTURE_TTL_MS;
        locks_wait(fixture->here.locks, &request, &acquirer, fixture_answered);
        fixture_await_queue(&fixture->here, "n", 1);
        fixture_release(releasers[i], "n", i ? "a" : "b");
        fixture_await(fixture, &answer.count, 1);
        await_reported(fixture, i + 1);
        assert_int_equal(fixture->here.expired.count, i + 1);
    }
}

/* Whoever releases twice has nothing to do with who got the name in between. */
TEST_IN_FIXTURE(a_repeated_release_forgets_no_other_hold)
{
    fixture_lock(&fixture->here, "n", "first", FIXTURE_TTL_MS);
    fixture_release(&fixture->here, "n", "first");
    fixture_lock(&fixture->here, "n", "second", TTL_MS * 5);
    assert_true(fixture_release(&fixture->here, "n", "first").reply.release.repeated);
    await_reported(fixture, 1);
}

/* A key of somebody else's, by the name's own key, fails alone. */
TEST_IN_FIXTURE(a_foreign_key_does_not_hide_the_others)
{
    fixture_lock(&fixture->here, "foreign", "token", 3000);
    fixture_lock(&fixture->here, "n", "token", 3000);
    freeReplyObject(redis_process_command(&fixture->redis, "DEL baton:{foreign}"));
    freeReplyObject(redis_process_command(&fixture->redis, "RPUSH baton:{foreign} x"));
    await_reported(fixture, 1);
    assert_string_equal(fixture->here.expired.name, "n");
}
