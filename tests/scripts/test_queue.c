/* Waiting in a queue, being granted from it, and leaving it. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <string.h>

enum { LEASE = 60000, CLAIM = 5000 };

#define wait_for(scripts, ...)                                                                     \
    assert_status(                                                                                 \
        acquire(scripts, .server = "one", .lease_ms = LEASE, .claim_ms = CLAIM, __VA_ARGS__),      \
        "waiting")

static void assert_holds(struct scripts *scripts, const char *token)
{
    if (!inspect(scripts, "n", token).mine)
        fail_msg("%s has no hold", token);
}

TEST_WITH_CLOCK(waiters_are_granted_in_the_order_of_their_arrival)
{
    static const char *const TOKENS[] = {"a", "z", "b", "y", "c"};
    int64_t fence = acquire(scripts, .token = "a").fence;
    for (int i = 1; i < 5; i++) {
        struct answer waiting = acquire(scripts, .token = TOKENS[i], .server = "one",
                                        .lease_ms = LEASE, .claim_ms = CLAIM);
        assert_status(waiting, "waiting");
        assert_int_equal(inspect(scripts, "n", "").waiters, i);
        assert_int_equal(inspect(scripts, "n", "").version, fence);
    }
    for (int i = 0; i < 4; i++) {
        assert_status(release(scripts, "n", TOKENS[i]), "released");
        struct seen seen = inspect(scripts, "n", TOKENS[i + 1]);
        assert_int_equal(seen.mine, 1);
        assert_int_equal(seen.holds, 1);
        assert_int_equal(seen.waiters, 3 - i);
        assert_true(seen.shown_holds[0].fence > fence);
        fence = seen.shown_holds[0].fence;
        assert_status(acquire(scripts, .token = TOKENS[i + 1]), "claimed");
    }
}

TEST_WITH_CLOCK(a_grant_lasts_for_the_claim_window_until_it_is_claimed)
{
    acquire(scripts, .token = "a");
    wait_for(scripts, .token = "b", .owner = "B", .ttl_ms = 40000, .meta = "{}");
    struct answer released = release(scripts, "n", "a");
    struct seen seen = inspect(scripts, "n", "b");
    assert_in_range(seen.shown_holds[0].ttl_ms, 1, CLAIM);
    assert_string_equal(seen.shown_holds[0].meta, "{}");
    assert_int_equal(seen.version, released.version);

    struct answer claimed = acquire(scripts, .token = "b", .owner = MADE "B", .attempt = "claim");
    assert_status(claimed, "claimed");
    assert_int_equal(claimed.ttl_ms, 40000);
    assert_string_equal(claimed.owner, "B");
    assert_int_equal(claimed.fence, seen.shown_holds[0].fence);
    assert_int_equal(claimed.holds, 1);
    sleep_past(scripts, 20);
    struct answer repeat = acquire(scripts, .token = "b", .owner = MADE "B");
    assert_status(repeat, "holding");
    assert_in_range(repeat.ttl_ms, 1, 39980);
}

TEST_WITH_CLOCK(a_claim_whose_reply_was_lost_is_taken_back)
{
    acquire(scripts, .token = "a");
    wait_for(scripts, .token = "b");
    wait_for(scripts, .token = "c");
    release(scripts, "n", "a");
    assert_status(acquire(scripts, .token = "b", .attempt = "claim"), "claimed");
    assert_status(take_back(scripts, "n", "b", "claim"), "released");
    assert_holds(scripts, "c");
}

TEST_WITH_CLOCK(a_newcomer_does_not_pass_a_waiter)
{
    acquire(scripts, .token = "a", .mode = "shared");
    wait_for(scripts, .token = "x");
    struct answer newcomer = acquire(scripts, .token = "b", .mode = "shared");
    assert_status(newcomer, "locked");
    assert_int_equal(newcomer.view.waiters, 1);
    release(scripts, "n", "a");
    assert_status(acquire(scripts, .token = "b", .mode = "shared"), "locked");
    assert_holds(scripts, "x");
}

TEST_WITH_CLOCK(an_owner_passes_the_waiters)
{
    acquire(scripts, .token = "a", .owner = "A", .reenters = true);
    wait_for(scripts, .token = "x");
    assert_status(acquire(scripts, .token = "a2", .owner = "A", .reenters = true), "granted");
    assert_status(acquire(scripts, .token = "a3", .owner = "A", .reenters = true, .mode = "shared"),
                  "granted");
    release(scripts, "n", "a");
    release(scripts, "n", "a2");
    assert_int_equal(inspect(scripts, "n", "x").mine, 0);
    release(scripts, "n", "a3");
    assert_holds(scripts, "x");
}

/* Wherever it waits, and whoever releases; its owner's first waiter may have claimed by that. */
TEST_WITH_CLOCK(reentrant_waiter_is_let_in_when_its_owner_is_granted)
{
    for (int way = 0; way < 8; way++) {
        const char *elsewhere = way & 1 ? "two" : "one", *asks = way & 2 ? "one" : "other";
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x");
        wait_for(scripts, .token = "a", .owner = "A");
        wait_for(scripts, .token = "s");
        acquire(scripts, .token = "a2", .owner = "A", .reenters = true, .attempt = "a2",
                .server = elsewhere, .keep_ms = 10000);
        wait_for(scripts, .token = "t");
        if (way & 4)
            leave(scripts, .token = "a2", .attempt = "a2", .why = "timeout", .keep_ms = 10000);
        assert_int_equal(inspect(scripts, "n", "a2").position, 3);
        struct answer released = release_at(scripts, "n", "x", asks);
        assert_string_equal(released.next_attempt, "");
        assert_holds(scripts, "a");
        assert_holds(scripts, "a2");
        struct seen seen = inspect(scripts, "n", "s");
        assert_int_equal(seen.position, 1);
        assert_int_equal(seen.waiters, 2);
        release(scripts, "n", "a"); /* its request is notified no sooner */
        release(scripts, "n", "a2");
        assert_holds(scripts, "s");
    }
}

/* A release before has queued it. */
TEST_WITH_CLOCK(reentrant_waiter_that_is_not_noted_is_let_in_behind_its_owner)
{
    for (int way = 0; way < 4; way++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x");
        wait_for(scripts, .token = "a", .owner = "A", .reenters = true);
        wait_for(scripts, .token = "a2", .owner = "A", .reenters = true);
        delete_key(scripts, "n", ":entrants");
        if (way & 1)
            wait_for(scripts, .token = "s", .owner = "S", .reenters = true);
        struct answer released = release_at(scripts, "n", "x", way & 2 ? "one" : "other");
        assert_string_equal(released.next_attempt, "");
        assert_holds(scripts, "a");
        assert_holds(scripts, "a2");
    }
}

/* As a newcomer of that owner does; without a hold of its owner it goes back to its place. */
TEST_WITH_CLOCK(waiting_upgrade_stands_in_front_when_its_owner_is_granted)
{
    for (int goes = 0; goes < 2; goes++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x", .mode = "shared", .limit = 2);
        acquire(scripts, .token = "y", .mode = "shared", .limit = 2);
        wait_for(scripts, .token = "a", .owner = "A", .mode = "shared", .limit = 2);
        wait_for(scripts, .token = "s");
        wait_for(scripts, .token = "up", .owner = "A", .reenters = true);
        release(scripts, "n", "x");
        assert_holds(scripts, "a");
        assert_int_equal(inspect(scripts, "n", "up").position, 1);
        assert_int_equal(inspect(scripts, "n", "s").position, 2);
        assert_status(acquire(scripts, .token = "z", .owner = "y", .reenters = true),
                      "upgrade_conflict");
        release(scripts, "n", goes ? "a" : "y");
        assert_int_equal(inspect(scripts, "n", "up").position, goes ? 2 : 0);
        assert_int_equal(inspect(scripts, "n", "up").mine, !goes);
    }
}

TEST_WITH_CLOCK(an_unclaimed_grant_falls_to_the_next)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b", .server = "two", .lease_ms = LEASE, .claim_ms = 40);
    wait_for(scripts, .token = "c");
    release(scripts, "n", "a");
    assert_holds(scripts, "b");
    assert_int_equal(inspect(scripts, "n", "c").mine, 0);
    miss_turns(scripts, 40);
    struct seen seen = inspect(scripts, "n", "c");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.holds, 1);
    assert_status(acquire(scripts, .token = "b"), "locked");
}

/* Nobody behind it, and nobody who comes. */
TEST_WITH_CLOCK(a_dead_waiter_blocks_nobody)
{
    for (int waits = 0; waits < 2; waits++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "a", .mode = "shared");
        acquire(scripts, .token = "x", .server = "two", .lease_ms = 30, .claim_ms = CLAIM);
        if (waits)
            wait_for(scripts, .token = "b", .mode = "shared");
        else
            assert_status(acquire(scripts, .token = "b", .mode = "shared"), "locked");
        assert_int_equal(inspect(scripts, "n", "b").mine, 0);
        sleep_past(scripts, 30);
        if (!waits)
            assert_status(acquire(scripts, .token = "b", .mode = "shared"), "granted");
        assert_holds(scripts, "b");
    }
}

TEST_WITH_CLOCK(a_run_of_shared_waiters_is_granted_together)
{
    acquire(scripts, .token = "a");
    wait_for(scripts, .token = "b", .mode = "shared");
    wait_for(scripts, .token = "c", .mode = "shared");
    wait_for(scripts, .token = "x");
    wait_for(scripts, .token = "d", .mode = "shared");
    release(scripts, "n", "a");
    assert_holds(scripts, "b");
    assert_holds(scripts, "c");
    struct seen seen = inspect(scripts, "n", "d");
    assert_int_equal(seen.mine, 0);
    assert_int_equal(seen.waiters, 2);
    release(scripts, "n", "b");
    assert_int_equal(inspect(scripts, "n", "x").mine, 0);
    release(scripts, "n", "c");
    assert_holds(scripts, "x");
    assert_int_equal(inspect(scripts, "n", "d").mine, 0);
    release(scripts, "n", "x");
    assert_holds(scripts, "d");
}

TEST_WITH_CLOCK(waiters_behind_one_that_leaves_move_up)
{
    acquire(scripts, .token = "a", .mode = "shared");
    wait_for(scripts, .token = "x");
    wait_for(scripts, .token = "b", .mode = "shared");
    assert_status(release(scripts, "n", "x"), "cancelled");
    assert_holds(scripts, "b");
}

TEST_WITH_CLOCK(a_repeat_renews_the_lease)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "b", .server = "one", .lease_ms = 60, .claim_ms = CLAIM);
    wait_for(scripts, .token = "b");
    sleep_past(scripts, 70);
    release(scripts, "n", "a");
    assert_holds(scripts, "b");
}

/* Who is let in past the queue, as its owner holds, must not stay in it and be granted twice. */
TEST_WITH_CLOCK(a_waiter_that_enters_again_leaves_the_queue)
{
    acquire(scripts, .token = "a", .owner = "A", .reenters = true, .mode = "shared");
    acquire(scripts, .token = "b", .owner = "B", .reenters = true, .mode = "shared");
    wait_for(scripts, .token = "x");
    wait_for(scripts, .token = "b2", .owner = "B", .reenters = true);
    release(scripts, "n", "a");
    assert_status(acquire(scripts, .token = "b2", .owner = "B", .reenters = true, .server = "one",
                          .lease_ms = LEASE, .claim_ms = CLAIM),
                  "claimed");
    assert_int_equal(inspect(scripts, "n", "").waiters, 1);
    release(scripts, "n", "b");
    release(scripts, "n", "b2");
    assert_holds(scripts, "x");
    release(scripts, "n", "x");
    struct seen seen = inspect(scripts, "n", "b2");
    assert_int_equal(seen.mine, 0);
    assert_int_equal(seen.holds, 0);
}

/* A release at the server where all wait claims for the next one, unless there is a reason not to.
 */
TEST_WITH_CLOCK(a_release_at_their_server_claims_for_the_next)
{
    acquire(scripts, .token = "x");
    wait_for(scripts, .token = "a", .attempt = "a1", .ttl_ms = 20000);
    wait_for(scripts, .token = "b");
    wait_for(scripts, .token = "c");
    struct answer released = release_at(scripts, "n", "x", "one");
    assert_status(released, "released");
    assert_string_equal(released.next_attempt, "a1");
    assert_string_equal(released.next_owner, "a");
    assert_string_equal(released.owner, "x");
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.shown_holds[0].ttl_ms, 20000);
    assert_int_equal(seen.shown_holds[0].fence, released.version);
    assert_int_equal(seen.waiters, 2);
}

/* Though what was released had made the name be kept for longer. */
TEST_WITH_CLOCK(a_release_at_their_server_keeps_the_name_as_long_as_the_queue)
{
    acquire(scripts, .token = "x");
    for (int i = 0; i < 3; i++)
        wait_for(scripts, .token = (const char *[]){"a", "b", "c"}[i]);
    assert_status(renew(scripts, "n", "x", 24 * 3600 * 1000), "renewed");
    assert_string_not_equal(release_at(scripts, "n", "x", "one").next_attempt, "");
    int64_t pttl = redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", "").text);
    assert_true(pttl < 2 * scripts->retention_ms);
}

TEST_WITH_CLOCK(a_release_of_what_has_expired_claims_nothing)
{
    for (int waiters = 1; waiters <= 2; waiters++) {
        scripts_reset_with_own_clock(scripts);
        acquire(scripts, .token = "x", .ttl_ms = 1000);
        wait_for(scripts, .token = "a");
        if (waiters == 2)
            wait_for(scripts, .token = "b");
        sleep_past(scripts, 1000);
        struct answer released = release_at(scripts, "n", "x", "one");
        assert_status(released, "not_held");
        assert_string_equal(released.next_attempt, "");
        assert_int_equal(inspect(scripts, "n", "a").shown_holds[0].ttl_ms, CLAIM / 2);
    }
}

TEST_WITH_CLOCK(a_release_at_a_server_whose_lease_is_over_claims_nothing)
{
    for (int waiters = 1; waiters <= 3; waiters += 2) {
        const char *holder = waiters == 1 ? "x" : "y";
        acquire(scripts, .token = holder);
        for (int i = 0; i < waiters; i++)
            acquire(scripts, .token = (const char *[]){"a", "b", "c"}[i], .server = "one",
                    .lease_ms = 1000, .claim_ms = CLAIM);
        sleep_past(scripts, 1000);
        assert_string_equal(release_at(scripts, "n", holder, "one").next_attempt, "");
        assert_int_equal(inspect(scripts, "n", "").holds, 0);
    }
}

TEST_WITH_CLOCK(a_release_at_a_suspect_server_claims_nothing)
{
    acquire(scripts, .token = "x");
    wait_for(scripts, .token = "a");
    wait_for(scripts, .token = "b");
    release(scripts, "n", "x");
    miss_turns(scripts, CLAIM);
    assert_status(acquire(scripts, .token = "y"), "granted");
    assert_string_equal(release_at(scripts, "n", "y", "one").next_attempt, "");
    assert_int_equal(inspect(scripts, "n", "").waiters, 2);
}

RUN_SCRIPT_TESTS
