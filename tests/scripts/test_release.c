/* The end of a hold by its own token, asked for once or again, and taking back a doubtful grant. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

TEST_WITH_CLOCK(a_release_frees_the_name)
{
    struct answer held = acquire(scripts, .token = "a");
    sleep_past(scripts, 20);
    struct answer released = release(scripts, "n", "a");
    assert_status(released, "released");
    assert_int_equal(released.fence, held.fence);
    assert_in_range(released.held_ms, 20, 10000);
    assert_int_equal(released.holds, 0);
    assert_true(released.version > held.version);
    assert_status(acquire(scripts, .token = "b"), "granted");
}

TEST_WITH_CLOCK(a_release_reports_what_its_owner_has_left)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    acquire(scripts, .token = "b", .owner = "A", .mode = "shared");
    acquire(scripts, .token = "c", .owner = "C", .mode = "shared");
    assert_int_equal(release(scripts, "n", "b").holds, 1);
    assert_int_equal(release(scripts, "n", "c").holds, 0);
    assert_int_equal(release(scripts, "n", "a").holds, 0);
}

TEST_WITH_CLOCK(a_release_reports_whose_hold_it_was)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    acquire(scripts, .token = "b", .owner = "B", .mode = "shared");
    struct answer of_set = release(scripts, "n", "b"), only = release(scripts, "n", "a");
    assert_string_equal(of_set.owner, "B");
    assert_string_equal(only.owner, "A");
    acquire(scripts, .token = "x", .owner = "X");
    struct answer exclusive = release(scripts, "n", "x");
    assert_string_equal(exclusive.owner, "X");
}

TEST_WITH_CLOCK(only_its_token_releases_a_hold)
{
    struct answer held = acquire(scripts, .token = "secret", .owner = "A");
    assert_status(release(scripts, "n", "A"), "not_held");
    assert_status(release(scripts, "n", "secre"), "not_held");
    assert_status(release(scripts, "n", "secret1"), "not_held");
    assert_status(release(scripts, "m", "secret"), "not_held");
    struct seen seen = inspect(scripts, "n", "secret");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.version, held.version);
}

TEST_ON_REDIS_TIME(a_name_never_used_has_nothing_to_release)
{
    assert_status(release(scripts, "n", "a"), "not_held");
    assert_int_equal(key_count(scripts), 0);
}

TEST_WITH_CLOCK(a_release_after_the_ttl_does_not_free_the_next_holder)
{
    struct answer late = acquire(scripts, .token = "late", .ttl_ms = 40);
    sleep_until(scripts, late.fence + 40000);
    struct answer next = acquire(scripts, .token = "next");
    assert_status(next, "granted");
    assert_status(release(scripts, "n", "late"), "not_held");
    struct seen seen = inspect(scripts, "n", "next");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.version, next.version);
    assert_status(acquire(scripts, .token = "third"), "locked");
}

TEST_WITH_CLOCK(a_release_after_the_ttl_frees_nothing_in_a_hold_set)
{
    acquire(scripts, .token = "late", .mode = "shared", .ttl_ms = 40);
    acquire(scripts, .token = "b", .mode = "shared");
    sleep_past(scripts, 40);
    assert_status(release(scripts, "n", "late"), "not_held");
    assert_int_equal(inspect(scripts, "n", "b").holds, 1);
    assert_status(acquire(scripts, .token = "x"), "locked");
}

TEST_WITH_CLOCK(a_repeated_release_answers_the_same)
{
    acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    acquire(scripts, .token = "b", .owner = "A", .mode = "shared");
    sleep_past(scripts, 5);
    struct answer released = release(scripts, "n", "b");
    for (int i = 0; i < 3; i++) {
        sleep_past(scripts, 2);
        struct answer repeat = release(scripts, "n", "b");
        assert_status(repeat, "released");
        assert_int_equal(repeat.fence, released.fence);
        assert_int_equal(repeat.held_ms, released.held_ms);
        assert_int_equal(repeat.holds, 1);
        assert_int_equal(repeat.version, released.version);
    }
    assert_int_equal(inspect(scripts, "n", "").holds, 1);
}

TEST_WITH_CLOCK(a_repeated_release_does_not_free_the_next_holder)
{
    acquire(scripts, .token = "a");
    struct answer released = release(scripts, "n", "a");
    struct answer next = acquire(scripts, .token = "b");
    struct answer repeat = release(scripts, "n", "a");
    assert_status(repeat, "released");
    assert_int_equal(repeat.fence, released.fence);
    struct seen seen = inspect(scripts, "n", "b");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.version, next.version);
}

TEST_WITH_CLOCK(a_release_is_remembered_after_a_break_and_an_expiry)
{
    acquire(scripts, .token = "a");
    struct answer released = release(scripts, "n", "a");
    acquire(scripts, .token = "b");
    break_all(scripts, "n");
    assert_int_equal(release(scripts, "n", "a").fence, released.fence);
    acquire(scripts, .token = "c", .ttl_ms = 20);
    sleep_past(scripts, 20);
    struct answer repeat = release(scripts, "n", "a");
    assert_status(repeat, "released");
    assert_int_equal(repeat.fence, released.fence);
    assert_status(release(scripts, "n", "b"), "not_held");
    assert_status(release(scripts, "n", "c"), "not_held");
}

/* Tokens are remembered in two keys that take turns, each for 60 s after it was begun. */
TEST_ON_REDIS_TIME(memory_of_releases_ends)
{
    for (int i = 0; i < 10; i++) {
        char token[24];
        snprintf(token, sizeof token, "t%d", i);
        acquire(scripts, .token = token);
        release(scripts, "n", token);
    }
    assert_in_range(key_count(scripts), 2, 3);
    int64_t longest = 0;
    for (int i = 0; i < 2; i++) {
        int64_t pttl = redis_process_integer(&scripts->redis, "PTTL %s",
                                             key_of("n", i ? ":released:1" : ":released:0").text);
        longest = pttl > longest ? pttl : longest;
    }
    assert_in_range(longest, 30000, 60000);
}

enum { SECOND = 1000000, GENERATION = 30 * SECOND };

static int64_t remembered_releases(struct scripts *scripts)
{
    return redis_process_integer(&scripts->redis, "HLEN %s", key_of("n", ":released:0").text) +
           redis_process_integer(&scripts->redis, "HLEN %s", key_of("n", ":released:1").text);
}

/* With a release every five seconds, begun at any point of a generation: each is known for 30 s,
 * and what is remembered does not grow. */
TEST_WITH_CLOCK(a_release_is_known_for_half_a_minute_however_busy_the_name)
{
    int64_t generation = redis_now(scripts) / GENERATION * GENERATION + GENERATION;
    for (int offset = 0; offset < 30; offset += 6) {
        redis_process_flush(&scripts->redis);
        for (int i = 0; i < 40; i++) {
            char token[24];
            scripts->clock_us = generation + (int64_t)(offset + 5 * i) * SECOND;
            snprintf(token, sizeof token, "t%d", i);
            assert_status(acquire(scripts, .token = token), "granted");
            assert_status(release(scripts, "n", token), "released");
            for (int back = 1; back <= 5 && back <= i; back++) {
                snprintf(token, sizeof token, "t%d", i - back);
                assert_status(release(scripts, "n", token), "released");
                assert_status(acquire(scripts, .token = token), "released");
            }
            assert_in_range(remembered_releases(scripts), 0, 12);
        }
        assert_status(release(scripts, "n", "t0"), "not_held");
        assert_status(release(scripts, "n", "t26"), "not_held");
    }
}

TEST_WITH_CLOCK(a_doubtful_grant_is_taken_back)
{
    struct answer granted = acquire(scripts, .token = "a", .attempt = "one");
    struct answer taken = take_back(scripts, "n", "a", "one");
    assert_status(taken, "released");
    assert_true(taken.version > granted.version);
    assert_int_equal(inspect(scripts, "n", "a").holds, 0);
    assert_status(take_back(scripts, "n", "a", "one"), "not_held");
}

TEST_WITH_CLOCK(another_attempt_takes_nothing_back)
{
    struct answer granted = acquire(scripts, .token = "a", .attempt = "one");
    assert_status(take_back(scripts, "n", "a", "two"), "not_held");
    assert_status(take_back(scripts, "n", "a", "on"), "not_held");
    assert_status(take_back(scripts, "n", "b", "one"), "not_held");
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.version, granted.version);
}

TEST_WITH_CLOCK(a_taken_back_token_may_begin_anew)
{
    struct answer first = acquire(scripts, .token = "a", .attempt = "one");
    take_back(scripts, "n", "a", "one");
    assert_status(release(scripts, "n", "a"), "not_held");
    struct answer again = acquire(scripts, .token = "a", .attempt = "two");
    assert_status(again, "granted");
    assert_true(again.fence > first.fence);
    assert_status(take_back(scripts, "n", "a", "one"), "not_held");
    assert_status(release(scripts, "n", "a"), "released");
}

TEST_WITH_CLOCK(a_release_before_a_taking_back_is_still_remembered)
{
    acquire(scripts, .token = "a");
    struct answer released = release(scripts, "n", "a");
    acquire(scripts, .token = "b", .attempt = "one");
    take_back(scripts, "n", "b", "one");
    struct answer repeat = release(scripts, "n", "a");
    assert_status(repeat, "released");
    assert_int_equal(repeat.fence, released.fence);
}

TEST_WITH_CLOCK(a_client_that_came_back_keeps_its_hold)
{
    acquire(scripts, .token = "a", .attempt = "one");
    assert_status(acquire(scripts, .token = "a", .attempt = "two"), "holding");
    assert_status(take_back(scripts, "n", "a", "one"), "not_held");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
    assert_status(take_back(scripts, "n", "a", "two"), "released"); /* nobody knows of it */
}

TEST_WITH_CLOCK(a_client_that_renewed_keeps_its_hold)
{
    acquire(scripts, .token = "a", .attempt = "one");
    assert_status(renew(scripts, "n", "a", 20000), "renewed");
    assert_status(take_back(scripts, "n", "a", "one"), "not_held");
    assert_int_equal(inspect(scripts, "n", "a").mine, 1);
}

TEST_WITH_CLOCK(a_doubtful_grant_in_a_hold_set_is_taken_back_alone)
{
    acquire(scripts, .token = "a", .mode = "shared", .attempt = "one");
    acquire(scripts, .token = "b", .mode = "shared", .attempt = "one");
    acquire(scripts, .token = "c", .mode = "shared", .attempt = "one");
    assert_status(acquire(scripts, .token = "c", .mode = "shared", .attempt = "two"), "holding");
    assert_status(take_back(scripts, "n", "b", "one"), "released");
    assert_status(take_back(scripts, "n", "c", "one"), "not_held");
    assert_int_equal(inspect(scripts, "n", "a").holds, 2);
}

/* However short the retention is, a name that nobody uses leaves no more than these for a minute.
 */
TEST_ON_REDIS_TIME(with_a_short_retention_released_tokens_stay_for_a_minute_at_most)
{
    enum { RETENTION_MS = 10000, MINUTE_MS = 60000 };
    int64_t before = scripts->retention_ms;
    scripts->retention_ms = RETENTION_MS;
    for (int i = 0; i < 3; i++) {
        acquire(scripts, .token = i ? "b" : "a", .ttl_ms = 1000);
        release(scripts, "n", i ? "b" : "a");
    }
    assert_in_range(redis_process_integer(&scripts->redis, "PTTL %s", key_of("n", "").text), 1,
                    2 * RETENTION_MS + 100);
    int64_t longest = 0;
    for (int i = 0; i < 2; i++) {
        int64_t left =
            redis_process_integer(&scripts->redis, "PTTL %s:released:%d", key_of("n", "").text, i);
        longest = left > longest ? left : longest;
    }
    assert_in_range(longest, 1, MINUTE_MS);
    scripts->retention_ms = before;
}

RUN_SCRIPT_TESTS
