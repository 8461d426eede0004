/* Many holds of one name at a time: that they end, what they cost, and keys that were lost. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4000, SOME = 3000, SET_SIZE = 1100 };

/* `count` shared holds of owners of their own, tokens FIRST, FIRST + 1... */
static void share(struct scripts *scripts, int first, int count, int64_t ttl_ms)
{
    scripts->unwatched = true;
    for (int i = first; i < first + count; i++) {
        char token[24];
        snprintf(token, sizeof token, "t%d", i);
        struct answer answer = acquire(scripts, .token = token, .mode = "shared", .ttl_ms = ttl_ms);
        assert_status(answer, "granted");
    }
    scripts->unwatched = false;
}

TEST_WITH_CLOCK(hold_set_may_end_unattended)
{
    acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 40);
    sleep_past(scripts, 1); /* so that the fence is the time */
    struct answer last = acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 50);
    sleep_until(scripts, last.fence + 50000);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 0);
    assert_int_equal(seen.version, last.fence + 50000);
    assert_int_equal(seen.last_fence, last.fence);
    assert_string_equal(seen.last_reason, "expired");
    assert_int_equal(key_count(scripts), 3); /* with the clock of the test */
    assert_status(acquire(scripts, .token = "c"), "granted");
}

TEST_WITH_CLOCK(hold_set_ends_one_by_one)
{
    struct answer holds[3];
    static const char *const TOKENS[] = {"c", "a", "b"};
    for (int i = 0; i < 3; i++) {
        sleep_past(scripts, 1); /* so that the fence is the time */
        holds[i] = acquire(scripts, .token = TOKENS[i], .mode = "shared", .ttl_ms = 60 + 40 * i);
    }
    for (int i = 0; i < 3; i++) {
        int64_t end = holds[i].fence + (60 + 40 * i) * 1000;
        sleep_until(scripts, end);
        struct seen seen = inspect(scripts, "n", TOKENS[i]);
        assert_int_equal(seen.holds, 2 - i);
        assert_int_equal(seen.mine, 0);
        assert_int_equal(seen.version, end);
        assert_int_equal(seen.last_fence, holds[i].fence);
    }
}

TEST_WITH_CLOCK(hold_set_shrinks_to_one_and_grows_again)
{
    share(scripts, 0, 3, 30000);
    release(scripts, "n", "t0");
    release(scripts, "n", "t2");
    assert_string_equal(inspect(scripts, "n", "").shown_holds[0].owner, "t1");
    share(scripts, 3, 1, 30000);
    assert_int_equal(inspect(scripts, "n", "t1").holds, 2);
    release(scripts, "n", "t1");
    assert_status(acquire(scripts, .token = "x", .owner = "t3", .reenters = true), "granted");
    assert_status(release(scripts, "n", "t3"), "released");
    assert_status(acquire(scripts, .token = "y", .owner = "y"), "locked");
    assert_status(release(scripts, "n", "x"), "released");
    assert_status(acquire(scripts, .token = "y", .owner = "y"), "granted");
}

TEST_WITH_CLOCK(ten_are_shown_and_those_that_end_soonest)
{
    for (int i = 0; i < 15; i++) {
        char token[24];
        snprintf(token, sizeof token, "t%02d", i);
        acquire(scripts, .token = token, .mode = "shared", .ttl_ms = 60000 - 1000 * i);
    }
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, 15);
    assert_int_equal(seen.shown, 10);
    assert_string_equal(seen.shown_holds[0].owner, "t14");
    assert_string_equal(seen.shown_holds[9].owner, "t05");
}

/* That many ends take numbers of one sequence, and each still is below what comes later. */
TEST_WITH_CLOCK(thousands_end_together)
{
    share(scripts, 0, MANY, 60000);
    scripts->unwatched = true;
    for (int i = 0; i < MANY / 2; i++) {
        char token[24];
        snprintf(token, sizeof token, "t%d", i);
        renew(scripts, "n", token, 100);
    }
    scripts->unwatched = false;
    sleep_past(scripts, 100);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, MANY / 2);
    assert_status(renew(scripts, "n", "t0", 0), "not_held");
    assert_status(renew(scripts, "n", "t3999", 0), "renewed");
    struct answer broken = break_all(scripts, "n");
    assert_int_equal(broken.count, MANY / 2);
    assert_true(broken.version >= seen.version + MANY / 2);
    struct answer next = acquire(scripts, .token = "x");
    assert_status(next, "granted");
    assert_true(next.fence > broken.version);
}

/* One call looks at a batch of them. */
TEST_WITH_CLOCK(break_by_fence_finds_hold_among_thousands)
{
    share(scripts, 0, MANY, 60000);
    int64_t fence = acquire(scripts, .token = "last", .mode = "shared", .ttl_ms = 90000).fence;
    int64_t keys = key_count(scripts);
    assert_int_equal(break_hold(scripts, "n", fence + 1).count, 0);
    assert_true(scripts->turns >= MANY / 1000);
    struct answer broken = break_hold(scripts, "n", fence);
    assert_true(scripts->turns >= MANY / 1000);
    assert_int_equal(broken.count, 1);
    assert_string_equal(broken.owner, "last");
    assert_int_equal(inspect(scripts, "n", "").holds, MANY);
    assert_int_equal(key_count(scripts), keys); /* where a search goes on is noted no more */
}

/* All are reported, but only some by themselves: a reply stays short. */
static void assert_expired(const struct scripts *scripts, int64_t expected)
{
    int64_t count = 0;
    assert_in_range(scripts->expired_count, 1, scripts->turns * REPORTED_MOST);
    for (size_t i = 0; i < scripts->expired_count; i++) {
        assert_string_equal(scripts->expired[i].key, "baton:{n}");
        count += scripts->expired[i].count;
    }
    assert_int_equal(count, expected);
}

/* How many commands have run since reset_stats, of scripts and of the test. */
static int64_t commands(struct scripts *scripts)
{
    redisReply *stats = redis_process_command(&scripts->redis, "INFO commandstats");
    int64_t count = 0;
    for (const char *at = stats->str; (at = strstr(at, ":calls=")); at += strlen(":calls="))
        count += strtoll(at + strlen(":calls="), NULL, 10);
    freeReplyObject(stats);
    return count;
}

/* The next caller does not wait for all that end: Redis is asked a few times, not once for each. */
TEST_WITH_CLOCK(hold_set_that_ends_as_a_whole_costs_few_commands)
{
    enum { FEW = 100 };
    share(scripts, 0, MANY, 60000);
    scripts->unwatched = true;
    reset_stats(scripts);
    assert_int_equal(break_all(scripts, "n").count, MANY);
    assert_true(commands(scripts) < FEW);

    share(scripts, 0, MANY, 3000);
    scripts->unwatched = true;
    sleep_past(scripts, 3000);
    reset_stats(scripts);
    struct seen seen = inspect(scripts, "n", "");
    assert_true(commands(scripts) < FEW);
    assert_int_equal(seen.holds, 0);
    assert_string_equal(seen.last_reason, "expired");
    assert_status(acquire(scripts, .token = "x"), "granted");
}

TEST_WITH_CLOCK(all_that_end_are_reported)
{
    share(scripts, 0, SET_SIZE, 3000);
    share(scripts, SET_SIZE, 2, 60000);
    assert_int_equal(scripts->expired_count, 0);
    sleep_past(scripts, 3000);
    assert_int_equal(inspect(scripts, "n", "").holds, 2);
    assert_expired(scripts, SET_SIZE);
    assert_true(scripts->expired[99].fence > 0);
    assert_int_equal(scripts->expired[100].fence, 0);
    inspect(scripts, "n", "");
    assert_int_equal(scripts->expired_count, 0);
    share(scripts, SET_SIZE + 2, SET_SIZE, 50000);
    sleep_past(scripts, 60000);
    inspect(scripts, "n", "");
    assert_expired(scripts, SET_SIZE + 2);
}

enum { ROUNDS = 11, EACH = 100 };

/* The least of several rounds: at one of them nobody else uses this machine. */
static double least_cost(struct scripts *scripts, void (*round)(struct scripts *scripts, int i))
{
    double least = 0;
    for (int i = 0; i < ROUNDS; i++) {
        reset_stats(scripts);
        round(scripts, i);
        double cost = usec_per_call(scripts, "fcall");
        least = i == 0 || cost < least ? cost : least;
    }
    return least;
}

static void acquire_beside_one(struct scripts *scripts, int round)
{
    for (int i = 0; i < EACH; i++) {
        char name[24];
        snprintf(name, sizeof name, "single%d.%d", round, i);
        assert_status(acquire(scripts, .name = name, .token = "x", .mode = "shared"), "granted");
    }
}

static void acquire_beside_many(struct scripts *scripts, int round)
{
    share(scripts, MANY + round * EACH, EACH, 60000);
    scripts->unwatched = true;
}

TEST_WITH_CLOCK(thousands_of_holds_cost_no_more_than_one)
{
    scripts->unwatched = true;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < EACH; i++) {
            char name[40];
            snprintf(name, sizeof name, "single%d.%d", round, i);
            acquire(scripts, .name = name, .token = "first", .mode = "shared");
        }
    share(scripts, 0, MANY, 60000);
    scripts->unwatched = true;
    double beside_one = least_cost(scripts, acquire_beside_one);
    double beside_many = least_cost(scripts, acquire_beside_many);
    print_message("an acquire beside one hold: %.1f us, beside %d: %.1f us\n", beside_one, MANY,
                  beside_many);
    assert_true(beside_many <= 4 * beside_one); /* a look at each would cost a hundred times */
}

/* Whatever key is lost, by eviction or by hand: the name neither hangs nor stays locked, nothing
 * fails, and no number goes back. */
TEST_WITH_CLOCK(a_lost_key_locks_nobody_out)
{
    static const char *const LOST[] = {":holds", ":expiries", ":owners"};
    for (size_t i = 0; i < sizeof LOST / sizeof LOST[0]; i++) {
        redis_process_flush(&scripts->redis);
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 100);
        struct answer last = acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 100);
        delete_key(scripts, "n", LOST[i]);
        assert_true(inspect(scripts, "n", "a").version >= last.version);
        sleep_past(scripts, 100);
        assert_true(inspect(scripts, "n", "").version > last.version);
        struct answer next = acquire(scripts, .token = "x", .ttl_ms = 100);
        assert_status(next, "granted");
        assert_true(next.fence > last.fence);
    }
}

/* Those that come after the loss neither keep what was lost alive, nor leave a key without end. */
TEST_WITH_CLOCK(a_lost_key_is_made_good_when_others_come)
{
    static const char *const LOST[] = {":holds", ":expiries", ":owners"};
    for (size_t i = 0; i < sizeof LOST / sizeof LOST[0]; i++) {
        redis_process_flush(&scripts->redis);
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 100);
        acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 100);
        delete_key(scripts, "n", LOST[i]);
        assert_status(acquire(scripts, .token = "c", .mode = "shared", .ttl_ms = 60000), "granted");
        assert_status(acquire(scripts, .token = "d", .mode = "shared", .ttl_ms = 60000), "granted");
        sleep_past(scripts, 100);
        assert_status(renew(scripts, "n", "a", 0), "not_held");
        assert_int_equal(inspect(scripts, "n", "").holds, 2);
        assert_status(release(scripts, "n", "c"), "released");
        assert_status(release(scripts, "n", "d"), "released");
        assert_status(acquire(scripts, .token = "x"), "granted");
    }
}

TEST_WITH_CLOCK(all_operations_bear_a_lost_key)
{
    static const char *const LOST[] = {":holds", ":expiries", ":owners"};
    for (int i = 0; i < 12; i++) {
        redis_process_flush(&scripts->redis);
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 60000);
        acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 60000);
        delete_key(scripts, "n", LOST[i % 3]);
        struct answer answer = i / 3 == 0   ? renew(scripts, "n", "a", 0)
                               : i / 3 == 1 ? release(scripts, "n", "a")
                               : i / 3 == 2 ? break_all(scripts, "n")
                                            : acquire(scripts, .token = "a", .mode = "shared");
        if (strncmp(answer.status, "ERR", 3) == 0)
            fail_msg("%s lost: %s", LOST[i % 3], answer.status);
        int64_t left = inspect(scripts, "n", "").holds;
        assert_int_equal(break_all(scripts, "n").count, left);
        assert_status(acquire(scripts, .token = "x"), "granted");
    }
}

TEST_WITH_CLOCK(a_lost_main_key_begins_anew)
{
    share(scripts, 0, 3, 60000);
    struct answer last = acquire(scripts, .token = "z", .mode = "shared", .ttl_ms = 60000);
    delete_key(scripts, "n", "");
    sleep_past(scripts, 1); /* numbers come from the clock */
    assert_status(renew(scripts, "n", "t0", 0), "not_held");
    struct answer one = acquire(scripts, .token = "a", .owner = "A", .mode = "shared");
    struct answer two = acquire(scripts, .token = "b", .owner = "B", .mode = "shared");
    assert_true(one.fence > last.fence && two.fence > one.fence);
    assert_int_equal(inspect(scripts, "n", "t0").holds, 2);
    assert_int_equal(inspect(scripts, "n", "t0").mine, 0);
}

/* Each operation that answers by the state of the name, for a token of which the hold has ended. */
static struct answer operate(struct scripts *scripts, int number)
{
    switch (number) {
    case 1:
        return acquire(scripts, .token = "x", .mode = "shared");
    case 2:
        return acquire(scripts, .token = "x", .mode = "shared", .server = "one");
    case 3:
        return renew(scripts, "n", "t0", 0);
    case 4:
        return release(scripts, "n", "t0");
    case 5:
        return leave(scripts, .token = "t0", .attempt = "a", .why = "gone");
    case 6:
        return raise_to(scripts, "n", "t0", 1, 0, NULL);
    case 7:
        return break_all(scripts, "n");
    default:
        return try_inspect(scripts, "n", "t0");
    }
}

/* Of very many that end, each script removes some, so that all else in Redis goes on meanwhile;
 * what is still there of them counts for nobody. */
TEST_WITH_CLOCK(very_many_end_in_portions_beside_those_that_go_on)
{
    enum { ENDED = 8500, PORTION = 1000 };
    struct name_key expiries = key_of("n", ":expiries");
    share(scripts, ENDED, SOME, 600000);
    share(scripts, 0, ENDED, 300000);
    scripts->unwatched = true;
    sleep_past(scripts, 300000);
    scripts->is_impatient = true;
    for (int turn = 1; turn <= ENDED / PORTION; turn++) {
        struct answer answer = operate(scripts, turn);
        assert_status(answer, "unfinished");
        assert_int_equal(redis_process_integer(&scripts->redis, "ZCARD %s", expiries.text),
                         ENDED + SOME - turn * PORTION);
        assert_int_equal(count_holds(scripts, 1000, NULL), SOME);
    }
    scripts->is_impatient = false;
    struct page *page = list(scripts, "0", "baton:{n}", 10, 1000, NULL, 0);
    assert_int_equal(page->count, 1);
    assert_int_equal(page->views[0].holds, SOME);
    free(page);
    struct seen seen = inspect(scripts, "n", "t0");
    assert_int_equal(scripts->turns, 1);
    assert_int_equal(seen.holds, SOME);
    assert_int_equal(seen.mine, 0);
    assert_int_equal(inspect(scripts, "n", "t8500").mine, 1);
    assert_status(acquire(scripts, .token = "x"), "locked");
}

/* One hold was handed to a waiter that has not claimed it, and `others` came after it: all end,
 * none is counted twice, and the waiter, whose client knows of no hold, is the first to get one
 * again. */
static void break_beside_unclaimed(struct scripts *scripts, int others, int portions)
{
    redis_process_flush(&scripts->redis);
    assert_status(acquire(scripts, .token = "x"), "granted");
    assert_status(acquire(scripts, .token = "w", .mode = "shared", .attempt = "w", .server = "one",
                          .lease_ms = 600000, .claim_ms = 600000),
                  "waiting");
    assert_status(release(scripts, "n", "x"), "released");
    share(scripts, 0, others, 300000);
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(seen.holds, others + 1);
    scripts->is_impatient = true;
    for (int turn = 0; turn < portions; turn++)
        assert_status(break_all(scripts, "n"), "unfinished");
    scripts->is_impatient = false;
    struct answer broken = break_all(scripts, "n");
    assert_int_equal(broken.count, others + 1);
    assert_true(broken.version >= seen.version + others + 1);
    seen = inspect(scripts, "n", "w");
    assert_int_equal(seen.holds, 1);
    assert_int_equal(seen.mine, 1);
    assert_int_equal(break_all(scripts, "n").count, 1);
}

TEST_WITH_CLOCK(very_many_are_broken_in_portions_where_one_is_unclaimed)
{
    break_beside_unclaimed(scripts, 2, 0);
    break_beside_unclaimed(scripts, 3500, 1);
}

RUN_SCRIPT_TESTS
