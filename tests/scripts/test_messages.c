/* What servers are notified of: grants, cancellations, versions, and when to tick. */
#include "tests/scripts/inboxes.h"

#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct inboxes *inboxes;

static int set_up(void **state)
{
    scripts_clean_with_own_clock(state);
    inboxes = calloc(1, sizeof *inboxes);
    inboxes_open(inboxes, *state);
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

TEST_ON_SCRIPTS(server_without_waiters_gets_no_message, set_up, tear_down)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b");
    release(scripts, "n", "a");
    acquire(scripts, .token = "b", .server = "one");
    break_all(scripts, "n");
    assert_not_notified(inboxes);
}

TEST_ON_SCRIPTS(a_grant_is_notified_to_the_server_of_its_waiter, set_up, tear_down)
{
    acquire(scripts, .name = "ключ{}", .token = "x", .ttl_ms = 1000);
    acquire(scripts, .name = "ключ{}", .token = "a", .attempt = "a1", .server = "one");
    acquire(scripts, .name = "ключ{}", .token = "b", .attempt = "b1", .server = "two");
    assert_not_notified(inboxes);
    release(scripts, "ключ{}", "x");
    assert_notified(inboxes, "one g a1 a 2500 baton:{ключ%7B%7D}");
}

TEST_ON_SCRIPTS(every_hand_over_sends_a_message, set_up, tear_down)
{
    for (int i = 0; i < 7; i++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x", .attempt = "x1", .ttl_ms = i < 4 ? 20000 : 20);
        park(scripts, "a", "one", .claim_ms = 20000);
        if (i >= 4)
            sleep_past(scripts, 20);
        inboxes_read(inboxes);
        if (i == 0)
            release(scripts, "n", "x");
        else if (i == 1)
            break_all(scripts, "n");
        else if (i == 2)
            take_back(scripts, "n", "x", "x1");
        else if (i == 3)
            leave(scripts, .token = "x", .attempt = "x1", .why = "gone");
        else if (i == 4)
            tick(scripts, "n", "one");
        else if (i == 5)
            inspect(scripts, "n", "");
        else
            assert_status(renew(scripts, "n", "x", 0), "not_held");
        inboxes_read(inboxes);
        assert_int_equal(inboxes_count(inboxes, "one g a1 a "), 1);
    }
}

TEST_ON_SCRIPTS(a_server_that_is_suspected_with_another_is_notified, set_up, tear_down)
{
    scripts_reset_with_own_clock(scripts);
    scripts->unwatched = true; /* whose look at the keys knows the queues of other servers only */
    acquire(scripts, .token = "x");
    park(scripts, "a", "process-1", .claim_ms = 20);
    park(scripts, "b", "process-2", .claim_ms = 20);
    release(scripts, "n", "x");
    inboxes_read(inboxes);
    miss_turns(scripts, 20);
    assert_notified(inboxes, "process-1 g a1 a 10 baton:{n}", "process-1 n 10 baton:{n}",
                    "process-1 s baton:{n}", "process-2 n 10 baton:{n}", "process-2 s baton:{n}");
    assert_status(
        acquire(scripts, .token = "b", .attempt = "b1", .again = true, .server = "process-2"),
        "claimed");
}

TEST_ON_SCRIPTS(a_cancelled_request_is_notified, set_up, tear_down)
{
    for (int granted = 0; granted < 2; granted++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x", .ttl_ms = 1000);
        park(scripts, "a", "one", .ttl_ms = 0);
        if (granted)
            release(scripts, "n", "x");
        inboxes_read(inboxes);
        struct answer cancelled = release(scripts, "n", "a");
        assert_status(cancelled, "cancelled");
        assert_notified(inboxes, "one x a1 baton:{n}");
        for (int i = 0; i < 2; i++)
            assert_status(release(scripts, "n", "a"), "cancelled");
        assert_status(park(scripts, "a", "one", .again = true), "released");
        assert_status(acquire(scripts, .token = "a"), "released");
        assert_not_notified(inboxes);
        assert_int_equal(inspect(scripts, "n", "").holds, granted ? 0 : 1);
        assert_int_equal(inspect(scripts, "n", "").waiters, 0);
    }
}

TEST_ON_SCRIPTS(a_cancellation_is_remembered_for_half_a_minute, set_up, tear_down)
{
    enum { SECOND = 1000000 };
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "x", .ttl_ms = 600000);
    park(scripts, "a", "one", .ttl_ms = 0);
    release(scripts, "n", "a");
    scripts->clock_us += 29 * SECOND;
    park(scripts, "b", "one", .ttl_ms = 0);
    release(scripts, "n", "b");
    assert_status(release(scripts, "n", "a"), "cancelled");
}

/* What servers are notified of about the holds of their connections. An attempt is as batond writes
 * it: "=", the server, a number. */
#define ONE                           "0011223344556677"
#define TWO                           "8899aabbccddeeff"
#define OF_CONNECTION(server, number) "=" server "000000000000000" number

TEST_ON_SCRIPTS(end_of_hold_is_notified_to_server_of_its_connection, set_up, tear_down)
{
    for (int in_set = 0; in_set < 2; in_set++) {
        for (int breaks = 0; breaks < 2; breaks++) {
            scripts_reset_with_own_clock(scripts);
            acquire(scripts, .token = "a", .mode = "shared", .attempt = OF_CONNECTION(ONE, "1"));
            acquire(scripts, .token = "a", .mode = "shared", .attempt = OF_CONNECTION(TWO, "1"));
            if (in_set)
                acquire(scripts, .token = "b", .mode = "shared",
                        .attempt = OF_CONNECTION(TWO, "2"));
            renew(scripts, "n", "a", 0);
            assert_not_notified(inboxes);
            if (breaks)
                break_all(scripts, "n");
            else
                release(scripts, "n", "a");
            /* The client itself has renewed, so of the two only the later one counts. */
            assert_notified(inboxes,
                            breaks && in_set ? TWO " e * baton:{n}" : TWO " e a baton:{n}");
        }
    }
}

TEST_ON_SCRIPTS(connection_that_releases_its_hold_notifies_earlier_ones_alone, set_up, tear_down)
{
    acquire(scripts, .token = "a", .attempt = OF_CONNECTION(ONE, "1"));
    acquire(scripts, .token = "a", .attempt = OF_CONNECTION(TWO, "1"));
    assert_status(release_connection(scripts, "n", "a", OF_CONNECTION(TWO, "1")), "released");
    assert_notified(inboxes, ONE " e a baton:{n}");
    acquire(scripts, .token = "b", .attempt = OF_CONNECTION(ONE, "2"));
    assert_status(release_connection(scripts, "n", "b", OF_CONNECTION(ONE, "2")), "released");
    assert_not_notified(inboxes);
}

TEST_ON_SCRIPTS(break_of_many_notifies_each_server_once, set_up, tear_down)
{
    enum { MANY = 1100 };
    scripts->unwatched = true; /* there is nothing new to see after each of so many */
    for (int i = 0; i < MANY; i++) {
        char token[20];
        snprintf(token, sizeof token, "t%d", i);
        acquire(scripts, .token = token, .mode = "shared",
                .attempt = i % 2 ? OF_CONNECTION(ONE, "1") : OF_CONNECTION(TWO, "1"));
    }
    assert_int_equal(break_all(scripts, "n").count, MANY);
    assert_notified(inboxes, ONE " e * baton:{n}", TWO " e * baton:{n}");
}

TEST_ON_SCRIPTS(expiry_of_hold_of_connection_is_notified_to_nobody, set_up, tear_down)
{
    acquire(scripts, .token = "a", .ttl_ms = 20, .attempt = OF_CONNECTION(ONE, "1"));
    sleep_past(scripts, 20);
    tick(scripts, "n", "one");
    assert_not_notified(inboxes);
}

TEST_ON_SCRIPTS(detached_waiter_gets_no_message, set_up, tear_down)
{
    acquire(scripts, .token = "x", .ttl_ms = 1000);
    park(scripts, "a", "one", .ttl_ms = 0);
    leave(scripts, .token = "a", .attempt = "a1", .why = "drain");
    release(scripts, "n", "x");
    assert_status(release(scripts, "n", "a"), "cancelled");
    assert_not_notified(inboxes);
}

TEST_ON_SCRIPTS(a_request_whose_place_was_taken_is_notified, set_up, tear_down)
{
    acquire(scripts, .token = "x", .ttl_ms = 1000);
    park(scripts, "a", "one", .ttl_ms = 0);
    assert_status(park(scripts, "a", "one", .again = true), "waiting");
    assert_not_notified(inboxes);
    acquire(scripts, .token = "a", .attempt = "later", .server = "two");
    assert_notified(inboxes, "one g a1 a -1 baton:{n}");
    assert_status(park(scripts, "a", "one", .again = true), "superseded");
    release(scripts, "n", "x");
    assert_notified(inboxes, "two g later a ");
    assert_status(park(scripts, "a", "one", .again = true), "superseded");
    assert_status(
        acquire(scripts, .token = "a", .attempt = "later", .again = true, .server = "two"),
        "claimed");
    assert_status(park(scripts, "a", "one", .again = true), "superseded");
}

/* Watching. */

static void assert_notified_version(struct scripts *scripts, const char *server)
{
    char expected[MESSAGE];
    inboxes_read(inboxes);
    snprintf(expected, sizeof expected, "%s c %" PRId64 " baton:{n}", server,
             inspect(scripts, "n", "").version);
    if (inboxes_count(inboxes, expected) != 1)
        fail_msg("%s is notified of no version", server);
}

TEST_ON_SCRIPTS(every_new_version_is_notified_to_its_watchers, set_up, tear_down)
{
    struct answer watched = watch(scripts, "n", "one", 0);
    assert_int_equal(watched.next_ms, -1);
    assert_int_equal(watched.view.holds, 0);
    watch(scripts, "n", "two", 0);
    acquire(scripts, .token = "a", .attempt = "a1", .token_is_new = true);
    assert_notified_version(scripts, "one");
    release(scripts, "n", "a");
    assert_notified_version(scripts, "two");
    acquire(scripts, .token = "b", .attempt = "b1");
    assert_notified_version(scripts, "one");
    renew(scripts, "n", "b", 20);
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one c"), 0);
    sleep_past(scripts, 20);
    tick(scripts, "n", "one");
    assert_notified_version(scripts, "one");
    acquire(scripts, .token = "c", .attempt = "c1");
    assert_notified_version(scripts, "one");
    leave(scripts, .token = "c", .attempt = "c1", .why = "gone");
    assert_notified_version(scripts, "one");
    acquire(scripts, .token = "d");
    assert_notified_version(scripts, "one");
    break_all(scripts, "n");
    assert_notified_version(scripts, "one");
    acquire(scripts, .token = "e", .ttl_ms = 20);
    inboxes_read(inboxes);
    sleep_past(scripts, 20);
    free(list(scripts, "0", "baton:{*}", 10, 1000, NULL, 0));
    assert_notified_version(scripts, "one");
}

TEST_ON_SCRIPTS(call_that_changes_no_version_sends_no_message, set_up, tear_down)
{
    watch(scripts, "n", "one", 0);
    acquire(scripts, .token = "a");
    inboxes_read(inboxes);
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b");
    renew(scripts, "n", "a", 40000);
    inspect(scripts, "n", "");
    release(scripts, "n", "b");
    tick(scripts, "n", "one");
    watch(scripts, "n", "one", 0);
    assert_not_notified(inboxes);
}

TEST_ON_SCRIPTS(watchers_are_notified_when_waiting_begins_and_ends, set_up, tear_down)
{
    scripts_reset_with_own_clock(scripts);
    acquire(scripts, .token = "h");
    watch(scripts, "n", "one", 0);
    inboxes_read(inboxes);
    park(scripts, "a", "two", .ttl_ms = 0);
    assert_int_equal((inboxes_read(inboxes), inboxes_count(inboxes, "one w baton:{n}")), 1);
    park(scripts, "b", "two", .ttl_ms = 0);
    leave(scripts, .token = "a", .attempt = "a1", .why = "timeout");
    assert_not_notified(inboxes);
    leave(scripts, .token = "b", .attempt = "b1", .why = "timeout");
    assert_notified(inboxes, "one w baton:{n}");
}

TEST_ON_SCRIPTS(a_watcher_is_not_notified_after_its_lease, set_up, tear_down)
{
    scripts_reset(scripts); /* the keys of an own clock would be counted */
    watch(scripts, "n", "one", 20);
    sleep_past(scripts, 20);
    acquire(scripts, .token = "a");
    assert_not_notified(inboxes);
    assert_int_equal(key_count(scripts), 1);
}

TEST_ON_SCRIPTS(watching_stores_no_new_version, set_up, tear_down)
{
    int64_t version = inspect(scripts, "n", "").version;
    assert_int_equal(watch(scripts, "n", "one", 0).view.version, version);
    assert_int_equal(inspect(scripts, "n", "").version, version);
    acquire(scripts, .token = "a", .ttl_ms = 20000);
    struct answer watched = watch(scripts, "n", "two", 0);
    assert_int_equal(watched.view.holds, 1);
    assert_in_range(watched.next_ms, 19000, 20000);
}

/* Ticks. */

TEST_ON_SCRIPTS(the_next_end_is_reported_in_the_reply, set_up, tear_down)
{
    scripts_reset(scripts); /* the keys of an own clock would be counted */
    assert_int_equal(tick(scripts, "n", "one").next_ms, -1);
    assert_int_equal(key_count(scripts), 0);
    struct answer held = acquire(scripts, .token = "x", .ttl_ms = 60000);
    struct answer waiting = park(scripts, "a", "one", .claim_ms = 40000);
    assert_in_range(waiting.next_ms, 1, 60000);
    struct answer ticked = tick(scripts, "n", "one");
    assert_in_range(ticked.next_ms, 1, 60000);
    assert_int_equal(ticked.version, held.version);
    assert_not_notified(inboxes);
    struct answer released = release(scripts, "n", "x");
    assert_notified(inboxes, "one g a1 a 20000 baton:{n}");
    ticked = tick(scripts, "n", "one");
    assert_in_range(ticked.next_ms, 1, 20000);
    assert_int_equal(ticked.version, released.version);
}

/* Rounded up: who ticks then is not too early. */
TEST_ON_SCRIPTS(a_tick_is_not_too_early, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "x", .ttl_ms = 10);
    scripts->clock_us += 9001;
    assert_int_equal(park(scripts, "a", "one", .ttl_ms = 0).next_ms, 1);
    scripts->clock_us += 998;
    assert_int_equal(tick(scripts, "n", "one").next_ms, 1);
    scripts->clock_us += 1;
    assert_in_range(tick(scripts, "n", "one").next_ms, 2499, 2500);
}

TEST_ON_SCRIPTS(an_earlier_end_is_notified_to_all_and_a_later_one_to_nobody, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    watch(scripts, "n", "one", 600000);
    watch(scripts, "n", "two", 600000);
    acquire(scripts, .token = "x", .mode = "shared", .ttl_ms = 20000);
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one n 20000 baton:{n}"), 1);
    assert_int_equal(inboxes_count(inboxes, "two n 20000 baton:{n}"), 1);
    acquire(scripts, .token = "y", .mode = "shared", .ttl_ms = 30000);
    renew(scripts, "n", "x", 25000);
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one n "), 0);
    renew(scripts, "n", "y", 5000);
    assert_notified(inboxes, "one n 5000 baton:{n}", "two n 5000 baton:{n}");
}

/* Who is told in the reply that nothing ends must hear of what ends after all. */
TEST_ON_SCRIPTS(an_end_that_comes_after_all_is_notified, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "x", .ttl_ms = 10000);
    watch(scripts, "n", "one", 600000);
    release(scripts, "n", "x");
    assert_int_equal(tick(scripts, "n", "one").next_ms, -1);
    inboxes_read(inboxes);
    acquire(scripts, .token = "y", .ttl_ms = 20000);
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one n 20000 baton:{n}"), 1);
}

TEST_ON_SCRIPTS(an_end_is_notified_again_once_the_tick_is_past, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    watch(scripts, "n", "one", 600000);
    acquire(scripts, .token = "x", .ttl_ms = 1000);
    scripts->clock_us += 2000000;
    inboxes_read(inboxes);
    acquire(scripts, .token = "y", .ttl_ms = 3000);
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one n 3000 baton:{n}"), 1);
}

/* An absent waiter at the head, or a server that died, must not block those behind it for ever. */
TEST_ON_SCRIPTS(the_end_of_a_place_is_an_end, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "s", .mode = "shared", .ttl_ms = 60000);
    park(scripts, "x", "one", .lease_ms = 600000);
    leave(scripts, .token = "x", .attempt = "x1", .why = "timeout", .keep_ms = 7000);
    struct answer behind = park(scripts, "t", "two", .mode = "shared", .lease_ms = 600000);
    assert_int_equal(behind.next_ms, 7000);
    scripts->clock_us += 7000000;
    inboxes_read(inboxes);
    tick(scripts, "n", "two");
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "two g t1 t 2500 baton:{n}"), 1);
}

/* A tick that was planned for a hold before is due, and this one ends later: who comes behind
 * others then is told when it does. */
TEST_ON_SCRIPTS(waiter_behind_others_gets_the_time_of_the_next_tick, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "x", .ttl_ms = 1000);
    park(scripts, "a", "one", .ttl_ms = 60000);
    park(scripts, "b", "one", .ttl_ms = 60000);
    assert_in_range(park(scripts, "c", "one", .ttl_ms = 60000).next_ms, 1, 1000);
    assert_status(release_at(scripts, "n", "x", "one"), "released");
    scripts->clock_us += 1500000;
    assert_int_equal(park(scripts, "d", "one", .ttl_ms = 60000).next_ms, 58500);
}

TEST_ON_SCRIPTS(the_end_of_a_lease_is_an_end_if_others_wait_behind, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "s", .mode = "shared", .ttl_ms = 60000);
    struct answer alone = park(scripts, "x", "one", .lease_ms = 8000);
    assert_int_equal(alone.next_ms, 60000);
    struct answer behind = park(scripts, "t", "two", .mode = "shared", .lease_ms = 9000);
    assert_int_equal(behind.next_ms, 8000);
    assert_notified(inboxes, "one n 8000 baton:{n}");
    scripts->clock_us += 8000000;
    tick(scripts, "n", "two");
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "two g t1 t 2500 baton:{n}"), 1);
}

/* A hundred ticks with nothing to do: no message, no write. */
TEST_ON_SCRIPTS(a_tick_without_a_change_changes_nothing, set_up, tear_down)
{
    acquire(scripts, .token = "x", .mode = "shared", .ttl_ms = 20000);
    acquire(scripts, .token = "y", .mode = "shared", .ttl_ms = 20000);
    park(scripts, "a", "one", .ttl_ms = 0);
    park(scripts, "b", "two", .ttl_ms = 0);
    tick(scripts, "n", "one");
    inboxes_read(inboxes);
    scripts->unwatched = true;
    reset_stats(scripts);
    for (int i = 0; i < 100; i++)
        assert_true(tick(scripts, "n", i % 2 ? "one" : "two").next_ms > 0);
    assert_int_equal(calls_of(scripts, "set"), 0);
    assert_not_notified(inboxes);
}

/* A renewal leaves a tick too early behind, once. */
TEST_ON_SCRIPTS(an_end_that_was_put_off_is_planned_anew, set_up, tear_down)
{
    scripts->clock_us = redis_now(scripts);
    acquire(scripts, .token = "x", .mode = "shared", .ttl_ms = 1000);
    acquire(scripts, .token = "y", .mode = "shared", .ttl_ms = 50000);
    park(scripts, "a", "one", .lease_ms = 600000);
    renew(scripts, "n", "x", 20000);
    scripts->clock_us += 1000000;
    assert_int_equal(tick(scripts, "n", "one").next_ms, 19000);
    scripts->clock_us += 1000;
    assert_int_equal(tick(scripts, "n", "one").next_ms, 18999);
}

/* What it claims may end before anything did until then. */
TEST_ON_SCRIPTS(a_claim_of_a_short_hold_plans_a_tick, set_up, tear_down)
{
    acquire(scripts, .token = "x");
    for (int i = 0; i < 2; i++)
        acquire(scripts, .token = i ? "b" : "a", .attempt = i ? "b1" : "a1", .ttl_ms = 1000,
                .server = i ? "two" : "one");
    release_at(scripts, "n", "x", "three");
    inboxes_read(inboxes);
    assert_status(acquire(scripts, .token = "a", .attempt = "a1", .again = true, .server = "one"),
                  "claimed");
    assert_notified(inboxes, "two n 1000 baton:{n}"); /* nobody waits at one any more */
}

TEST_ON_SCRIPTS(a_release_at_their_server_reports_its_watchers_there, set_up, tear_down)
{
    acquire(scripts, .token = "x");
    watch(scripts, "n", "one", 0);
    for (int i = 0; i < 3; i++)
        acquire(scripts, .token = (const char *[]){"a", "b", "c"}[i], .server = "one");
    inboxes_read(inboxes);
    release_at(scripts, "n", "x", "one");
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one c "), 1);
}

RUN_SCRIPT_TESTS
