/* Fences and versions only grow, and a name that nobody uses is forgotten after the retention. */
#include "tests/scripts/scripts.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

TEST_WITH_CLOCK(every_event_takes_a_number)
{
    int64_t version = inspect(scripts, "n", "").version;
    for (int i = 0; i < 20; i++) {
        char token[2][24];
        snprintf(token[0], sizeof token[0], "a%d", i);
        snprintf(token[1], sizeof token[1], "b%d", i);
        for (int j = 0; j < 2; j++) {
            struct answer granted = acquire(scripts, .token = token[j], .mode = "shared");
            assert_true(granted.fence > version);
            assert_int_equal(granted.version, granted.fence);
            version = granted.version;
        }
        struct answer ended = release(scripts, "n", token[0]);
        assert_true(ended.version > version);
        version = ended.version;
        ended = i % 2 ? break_all(scripts, "n") : release(scripts, "n", token[1]);
        assert_true(ended.version > version);
        version = ended.version;
    }
}

/* Whoever notices an expiry first: the version is the same, the time it ended. */
TEST_WITH_CLOCK(an_expiry_takes_its_own_time_as_number)
{
    for (int i = 0; i < 12; i++) {
        bool in_set = i & 1, late = i & 2;
        scripts_reset(scripts);
        struct answer last =
            acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = in_set ? 40 : 60);
        if (in_set)
            last = acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 60);
        int64_t end = last.fence + 60000;
        sleep_until(scripts, late ? end + 50000 : end);
        if (i / 4 == 0)
            assert_status(renew(scripts, "n", "a", 0), "not_held");
        else if (i / 4 == 1)
            assert_int_equal(break_all(scripts, "n").version, end);
        struct seen seen = inspect(scripts, "n", "");
        assert_int_equal(seen.version, end);
        assert_int_equal(inspect(scripts, "n", "").version, end);
    }
}

TEST_ON_REDIS_TIME(numbers_grow_over_the_loss_of_all_keys)
{
    int64_t fence = 0;
    for (int i = 0; i < 5; i++) {
        struct answer granted = acquire(scripts, .token = "a");
        assert_true(granted.fence > fence);
        fence = granted.fence;
        redis_process_flush(&scripts->redis);
    }
    assert_true(fence < INT64_C(9007199254740991));
}

/* A clock that was ahead before a failover: numbers go on from the last one. */
TEST_WITH_CLOCK(numbers_go_on_where_the_clock_fell_back)
{
    int64_t ahead = redis_now(scripts) + INT64_C(3600000000);
    acquire(scripts, .token = "a");
    struct name_key key = key_of("n", "");
    freeReplyObject(
        redis_process_command(&scripts->redis, "EVAL %s 1 %b %lld",
                              "redis.call('setrange', KEYS[1], 2, struct.pack('<d', ARGV[1]))",
                              key.text, key.length, (long long)ahead));
    scripts->unwatched = true;
    assert_int_equal(release(scripts, "n", "a").version, ahead + 1);
    assert_int_equal(acquire(scripts, .token = "b").fence, ahead + 2);
    assert_int_equal(acquire(scripts, .token = "c", .owner = "b", .reenters = true).fence,
                     ahead + 3);
}

/* Over and over through the end of the retention: the version that anybody sees never goes back,
 * and a new fence is above all that was seen. */
TEST_ON_REDIS_TIME(a_version_never_goes_back_though_it_is_forgotten)
{
    scripts->retention_ms = 60;
    int64_t begun = redis_now(scripts), next_use = 0, version = 0, forgotten = 0;
    int64_t end = begun + 1500000, late = begun + CLOCK_HANG_MS * INT64_C(1000);
    unsigned used = 0;
    while (redis_now(scripts) < (forgotten > 3 ? end : late)) {
        struct seen seen = inspect(scripts, "n", "");
        assert_true(seen.version >= version);
        version = seen.version;
        if (redis_now(scripts) < next_use)
            continue;
        forgotten += redis_process_integer(&scripts->redis, "EXISTS %s", key_of("n", "").text) == 0;
        struct answer granted =
            acquire(scripts, .token = "a", .token_is_new = true, .ttl_ms = 1 + used % 7);
        assert_status(granted, "granted");
        assert_true(granted.fence > version);
        version = granted.version;
        if (used++ % 2)
            release(scripts, "n", "a");
        next_use = redis_now(scripts) + 40000 + 9000 * (used % 9);
    }
    assert_true(forgotten > 3);
}

TEST_WITH_CLOCK(a_version_of_no_name_stays_while_its_period_lasts)
{
    scripts->retention_ms = 200;
    for (int i = 0; i < 3; i++) {
        int64_t version = inspect(scripts, "n", "").version;
        sleep_until(scripts, version + 199999);
        assert_int_equal(inspect(scripts, "n", "").version, version);
        sleep_until(scripts, version + 200000);
        assert_true(inspect(scripts, "n", "").version >= version + 200000);
    }
    assert_int_equal(redis_process_integer(&scripts->redis, "EXISTS %s", key_of("n", "").text), 0);
}

/* The limit is far beyond each retention here, and less than releases are remembered. */
static void wait_until_left(struct scripts *scripts, int64_t keys)
{
    int64_t deadline = redis_now(scripts) + 20 * INT64_C(1000000);
    while (key_count(scripts) > keys) {
        assert_true(redis_now(scripts) < deadline);
        sleep_past(scripts, 10);
    }
}

TEST_ON_REDIS_TIME(a_million_names_used_once_leave_nothing)
{
    enum { NAMES = 2000 };
    scripts->retention_ms = 300;
    for (int i = 0; i < NAMES; i++) {
        char name[40];
        snprintf(name, sizeof name, "user:7:order:%d", i);
        bool single = i % 3, released = i % 2;
        acquire(scripts, .name = name, .token = "a", .mode = "shared", .ttl_ms = 200);
        if (!single)
            acquire(scripts, .name = name, .token = "b", .mode = "shared", .ttl_ms = 200);
        if (released)
            release(scripts, name, "a");
    }
    wait_until_left(scripts, 0);
}

/* At the very start of a period the version of a name without keys is the time itself. */
TEST_WITH_CLOCK(a_fence_is_above_the_version_of_a_name_never_used)
{
    int64_t period = scripts->retention_ms * 1000;
    scripts->clock_us = (redis_now(scripts) / period + 1) * period;
    for (int i = 0; i < 2; i++) {
        redis_process_flush(&scripts->redis);
        int64_t version = inspect(scripts, "n", "").version;
        assert_int_equal(version, scripts->clock_us);
        struct answer granted = acquire(scripts, .token = "a", .token_is_new = i);
        assert_int_equal(granted.fence, version + 1);
        assert_int_equal(inspect(scripts, "n", "").version, version + 1);
    }
}

TEST_WITH_CLOCK(a_new_hold_outlives_the_retention)
{
    scripts->retention_ms = 20;
    for (int i = 0; i < 2; i++) {
        redis_process_flush(&scripts->redis);
        acquire(scripts, .token = "a", .ttl_ms = 60000, .token_is_new = i);
        sleep_past(scripts, 100);
        assert_int_equal(inspect(scripts, "n", "a").mine, 1);
        assert_status(acquire(scripts, .token = "x", .token_is_new = true), "locked");
    }
}

TEST_ON_REDIS_TIME(a_hold_outlives_the_retention)
{
    scripts->retention_ms = 30;
    for (int in_set = 0; in_set < 2; in_set++) {
        redis_process_flush(&scripts->redis);
        do { /* again where it has ended before it is renewed */
            acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 400);
            if (in_set)
                acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 50);
        } while (strcmp(renew(scripts, "n", "a", 4000).status, "renewed") != 0);
        sleep_past(scripts, 500);
        assert_int_equal(inspect(scripts, "n", "a").mine, 1);
        assert_status(acquire(scripts, .token = "x"), "locked");
        wait_until_left(scripts, 0);
    }
}

/* The common case takes three commands, whatever is in them. */
TEST_ON_REDIS_TIME(single_hold_costs_three_commands)
{
    enum { TIMES = 100 };
    scripts->unwatched = true;
    acquire(scripts, .token = "loads the script", .name = "other");
    release(scripts, "other", "loads the script");
    reset_stats(scripts);
    for (int i = 0; i < TIMES; i++) {
        char name[24];
        snprintf(name, sizeof name, "n%d", i);
        acquire(scripts, .name = name, .token = "a", .token_is_new = i % 2);
        release(scripts, name, "a");
    }
    assert_int_equal(calls_of(scripts, "fcall"), 2 * TIMES);
    assert_int_equal(calls_of(scripts, "eval"), 0);
    assert_int_equal(calls_of(scripts, "time"), 2 * TIMES);
    assert_int_equal(calls_of(scripts, "get"), 2 * TIMES);
    assert_int_equal(calls_of(scripts, "set"), 2 * TIMES);
    redisReply *stats = redis_process_command(&scripts->redis, "INFO commandstats");
    size_t lines = 0;
    for (const char *c = stats->str; *c; c++)
        lines += *c == '\n';
    freeReplyObject(stats);
    /* its title, fcall, time, get, set, CONFIG RESETSTAT and INFO itself */
    assert_in_range(lines, 6, 7);
}

RUN_TESTS(scripts_start, scripts_stop)
