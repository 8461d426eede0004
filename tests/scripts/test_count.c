/* How many holds there are, counted without a change to anything. */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

enum { ALL_AT_ONCE = 100000 };

static int64_t count(struct scripts *scripts)
{
    return count_holds(scripts, ALL_AT_ONCE, NULL);
}

/* So many shared holds of the name "set". */
static void share(struct scripts *scripts, const char *whose, int holds, int64_t ttl_ms)
{
    for (int i = 0; i < holds; i++) {
        char token[32];
        snprintf(token, sizeof token, "%s%d", whose, i);
        assert_status(
            acquire(scripts, .name = "set", .token = token, .mode = "shared", .ttl_ms = ttl_ms),
            "granted");
    }
}

TEST_WITH_CLOCK(a_hold_counts_until_it_ends)
{
    acquire(scripts, .name = "a", .token = "a", .ttl_ms = 20000);
    acquire(scripts, .name = "b", .token = "b", .ttl_ms = 1000);
    acquire(scripts, .name = "c", .token = "c", .ttl_ms = 20000);
    assert_int_equal(count(scripts), 3);
    release(scripts, "c", "c");
    assert_int_equal(count(scripts), 2);
    sleep_past(scripts, 1000);
    assert_int_equal(count(scripts), 1);
}

TEST_WITH_CLOCK(waiters_are_not_counted)
{
    acquire(scripts, .token = "a", .ttl_ms = 20000);
    assert_status(acquire(scripts, .token = "w", .attempt = "w", .claim_ms = 20000, .server = "s"),
                  "waiting");
    assert_int_equal(count(scripts), 1);
}

/* Nobody has looked at those that have ended, and more than are read at once. */
TEST_WITH_CLOCK(of_a_hold_set_those_that_live_count)
{
    share(scripts, "long", 3, 20000);
    share(scripts, "short", 1500, 1000);
    acquire(scripts, .name = "other", .token = "o", .ttl_ms = 20000);
    assert_int_equal(count(scripts), 1504);
    sleep_past(scripts, 1000);
    assert_int_equal(count(scripts), 4);
    sleep_past(scripts, 19000);
    assert_int_equal(count(scripts), 0);
}

TEST_WITH_CLOCK(parts_add_up)
{
    int parts;
    for (int i = 0; i < 700; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        acquire(scripts, .name = name, .token = "t", .ttl_ms = 20000);
    }
    assert_int_equal(count_holds(scripts, 100, &parts), 700);
    assert_in_range(parts, 5, 12);
    assert_int_equal(count_holds(scripts, ALL_AT_ONCE, &parts), 700);
    assert_int_equal(parts, 1);
}

TEST_ON_REDIS_TIME(count_changes_nothing)
{
    share(scripts, "a", 3, 50);
    acquire(scripts, .name = "single", .token = "l", .ttl_ms = 50);
    int64_t keys = key_count(scripts);
    sleep_past(scripts, 50);
    freeReplyObject(redis_process_command(&scripts->redis, "CONFIG SET min-replicas-to-write 3"));
    int64_t holds = count(scripts); /* Redis refuses to write now */
    freeReplyObject(redis_process_command(&scripts->redis, "CONFIG SET min-replicas-to-write 0"));
    assert_int_equal(holds, 0);
    assert_int_equal(key_count(scripts), keys);
}

TEST_WITH_CLOCK(keys_of_others_are_passed_over)
{
    freeReplyObject(redis_process_command(&scripts->redis, "SET baton:{short} x"));
    freeReplyObject(redis_process_command(&scripts->redis, "RPUSH baton:{list} x"));
    freeReplyObject(redis_process_command(&scripts->redis, "SET elsewhere:{n} x"));
    acquire(scripts, .name = "a", .token = "a", .ttl_ms = 20000);
    assert_int_equal(count(scripts), 1);
}

RUN_TESTS(scripts_start, scripts_stop)
