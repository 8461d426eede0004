/* The single waiter lives in the main key with the hold that it waits for, until others have to do
 * with the name: to everybody it must look like any other. */
#include "tests/scripts/inboxes.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct inboxes *inboxes;

static int set_up(void **state)
{
    struct scripts *scripts = *state;
    scripts_clean_with_own_clock(state);
    inboxes = calloc(1, sizeof *inboxes);
    inboxes_open(inboxes, scripts);
    acquire(scripts, .token = "x");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    inboxes_close(inboxes);
    free(inboxes);
    return 0;
}

#define park(scripts, name_of_token, where, ...)                                                   \
    acquire(scripts, .token = name_of_token, .attempt = name_of_token "1", .server = where,        \
            __VA_ARGS__)

static void assert_no_queue(struct scripts *scripts)
{
    redisReply *keys = redis_process_command(&scripts->redis, "KEYS baton:{n}:[sqw]*");
    if (keys->elements > 0)
        fail_msg("there is %s", keys->element[0]->str);
    freeReplyObject(keys);
}

static void assert_alone(struct scripts *scripts)
{
    assert_no_queue(scripts);
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
}

static bool must_ask_again(struct scripts *scripts, const char *server, int64_t lease_ms)
{
    struct standing standing;
    heartbeat(scripts, server, lease_ms, 1, (const char *const[]){"n"}, &standing);
    return standing.waits < 0;
}

TEST_ON_SCRIPTS(single_waiter_needs_no_key_of_its_own, set_up, tear_down)
{
    struct answer waiting = park(scripts, "a", "one", .lease_ms = 60000);
    assert_status(waiting, "waiting");
    assert_int_equal(waiting.next_ms, 30000);
    assert_alone(scripts);
    assert_status(acquire(scripts, .token = "y"), "locked");
    assert_alone(scripts);
    assert_status(renew(scripts, "n", "x", 40000), "renewed");
    assert_alone(scripts);
    assert_int_equal(tick(scripts, "n", "one").next_ms, 40000);
    assert_alone(scripts);
    assert_false(must_ask_again(scripts, "one", 60000));
    assert_alone(scripts);
    assert_status(release(scripts, "n", "y"), "not_held");
    assert_alone(scripts);
    assert_not_notified(inboxes);
}

/* The second byte of the main key: see STATE in locks/scripts/shared/01-formats.lua. */
enum { HELD = 2, AWAITED = 3 };

static int layout(struct scripts *scripts)
{
    redisReply *reply = redis_process_command(&scripts->redis, "GETRANGE baton:{n} 1 1");
    int found = reply->len == 1 ? reply->str[0] : -1;
    freeReplyObject(reply);
    return found;
}

TEST_ON_SCRIPTS(plain_name_stays_plain_while_one_waits_and_claims, set_up, tear_down)
{
    struct answer waiting = park(scripts, "a", "one", .token_is_new = true, .claim_ms = 5000);
    assert_status(waiting, "waiting");
    assert_int_equal(layout(scripts), AWAITED);
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
    release_at(scripts, "n", "x", "two");
    assert_int_equal(layout(scripts), AWAITED);
    assert_status(acquire(scripts, .token = "a", .attempt = "a0", .again = true, .server = "one"),
                  "superseded");
    assert_status(park(scripts, "a", "one", .again = true), "claimed");
    assert_int_equal(layout(scripts), HELD);

    park(scripts, "b", "one", .token_is_new = true);
    assert_int_equal(layout(scripts), AWAITED);
    assert_string_equal(release_at(scripts, "n", "a", "one").next_attempt, "b1");
    assert_int_equal(layout(scripts), HELD);
}

static int64_t kept_ms(struct scripts *scripts)
{
    return redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", "").text);
}

/* What was to be held for a day, or is asked for so long, does not keep the name that long. */
TEST_ON_SCRIPTS(a_long_ttl_does_not_outlast_its_hold, set_up, tear_down)
{
    enum { SECOND_MS = 1000, DAY_MS = 24 * 3600 * SECOND_MS };
    park(scripts, "a", "one", .ttl_ms = DAY_MS);
    assert_in_range(kept_ms(scripts), 0, 2 * scripts->retention_ms);

    scripts_reset_with_own_clock(scripts);
    acquire(scripts, .token = "x", .ttl_ms = DAY_MS);
    park(scripts, "a", "one", .ttl_ms = SECOND_MS);
    release_at(scripts, "n", "x", "one");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    assert_in_range(kept_ms(scripts), 0, 2 * scripts->retention_ms);
}

static void assert_line(struct scripts *scripts, const char *owners)
{
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.line, strlen(owners));
    assert_int_equal(seen.waiters, seen.line);
    for (size_t i = 0; i < seen.line; i++)
        assert_int_equal(seen.in_line[i].owner[0], owners[i]);
}

/* Others come to it, leave, and come again: the queue is the same, wherever it is kept. */
TEST_ON_SCRIPTS(the_queue_stays_the_same_as_others_come_and_go, set_up, tear_down)
{
    park(scripts, "a", "one", .ttl_ms = 0);
    park(scripts, "b", "one", .ttl_ms = 0);
    park(scripts, "c", "one", .ttl_ms = 0);
    leave(scripts, .token = "b", .attempt = "b1", .why = "gone");
    assert_line(scripts, "ac");
    park(scripts, "d", "one", .ttl_ms = 0);
    leave(scripts, .token = "a", .attempt = "a1", .why = "gone");
    assert_line(scripts, "cd");
    park(scripts, "a", "one", .ttl_ms = 0);
    leave(scripts, .token = "d", .attempt = "other", .why = "gone");
    assert_line(scripts, "cda");
    leave(scripts, .token = "d", .attempt = "d1", .why = "gone");
    park(scripts, "d", "one", .ttl_ms = 0);
    assert_line(scripts, "cad");
    park(scripts, "e", "two", .ttl_ms = 0);
    assert_line(scripts, "cade");
    release_at(scripts, "n", "x", "one");
    assert_line(scripts, "ade");
    leave(scripts, .token = "e", .attempt = "e1", .why = "gone");
    park(scripts, "f", "one", .ttl_ms = 0);
    assert_line(scripts, "adf");
    release_at(scripts, "n", "c", "two");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    assert_line(scripts, "df");
}

/* The hold is shared, and so is the second waiter: only the first one was in its way. */
TEST_ON_SCRIPTS(waiter_that_leaves_lets_in_whom_a_shared_hold_admits, set_up, tear_down)
{
    release(scripts, "n", "x");
    acquire(scripts, .token = "y", .mode = "shared");
    park(scripts, "a", "one", .ttl_ms = 0);
    park(scripts, "b", "one", .mode = "shared");
    park(scripts, "c", "one", .ttl_ms = 0);
    leave(scripts, .token = "a", .attempt = "a1", .why = "gone");
    assert_int_equal(inspect(scripts, "n", "b").mine, 1);
    assert_line(scripts, "c");
}

TEST_ON_SCRIPTS(a_shared_one_brings_its_limit, set_up, tear_down)
{
    park(scripts, "a", "one", .mode = "shared", .limit = 2);
    assert_alone(scripts);
    release_at(scripts, "n", "x", "one");
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.limit, 2);
    assert_int_equal(acquire(scripts, .token = "b", .mode = "shared").other_limit, 2 + 1);
}

TEST_ON_SCRIPTS(single_waiter_leaves_nothing_behind, set_up, tear_down)
{
    park(scripts, "a", "one", .ttl_ms = 0);
    assert_status(leave(scripts, .token = "a", .attempt = "a1", .why = "gone"), "left");
    assert_no_queue(scripts);
    assert_int_equal(inspect(scripts, "n", "").waiters, 0);
    park(scripts, "b", "one", .ttl_ms = 0);
    assert_status(release(scripts, "n", "b"), "cancelled");
    assert_notified(inboxes, "one x b1 baton:{n}");
    assert_int_equal(inspect(scripts, "n", "").waiters, 0);
}

/* Two leases and a minute, however short the retention is. */
TEST_ON_SCRIPTS(its_key_outlives_the_retention, set_up, tear_down)
{
    scripts_reset(scripts);
    scripts->retention_ms = 1000;
    acquire(scripts, .token = "x");
    assert_status(park(scripts, "a", "one", .lease_ms = 5000), "waiting");
    int64_t pttl = redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", "").text);
    assert_in_range(pttl, 61000, 70200);
    assert_int_equal(key_count(scripts), 1);
}

/* A hand-over leaves the end of the key where it is if that is late enough, and only then. */
TEST_ON_SCRIPTS(the_key_outlives_the_hold_that_was_handed_over, set_up, tear_down)
{
    for (int late = 0; late < 2; late++) {
        scripts_reset_with_own_clock(scripts);
        int64_t begun = clock_ms(); /* the ends of keys are Redis' own, not the test's time */
        scripts->retention_ms = 1000;
        acquire(scripts, .token = "x");
        park(scripts, "a", "one", .ttl_ms = 100000, .lease_ms = 5000);
        sleep_past(scripts, late ? 2000 : 10);
        assert_status(release_at(scripts, "n", "x", "one"), "released");
        int64_t pttl = redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", "").text);
        assert_in_range(pttl + clock_ms() - begun, late ? 101500 : 100500, INT64_MAX);
        assert_in_range(pttl, 0, 104000);
        assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    }
}

RUN_SCRIPT_TESTS
