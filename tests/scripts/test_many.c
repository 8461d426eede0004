/* Calls of several names in one command (many.lua): each has the reply that it would have alone,
 * and leaves the same behind. */
#include "tests/scripts/scripts.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000 };

/* A name that is held, one that somebody waits for, one that has just ended, and two that batond
 * cannot read. */
static void prepare(struct scripts *scripts)
{
    scripts->attempts = 0;
    acquire(scripts, .name = "ended", .token = "a", .ttl_ms = 100, .server = "one");
    sleep_past(scripts, 200);
    acquire(scripts, .name = "held", .token = "a");
    acquire(scripts, .name = "awaited", .token = "a");
    acquire(scripts, .name = "awaited", .token = "b", .server = "one");
    acquire(scripts, .name = "other-release", .token = "a");
    freeReplyObject(
        redis_process_command(&scripts->redis, "SETRANGE baton:{other-release} 0 \x1d"));
    freeReplyObject(redis_process_command(&scripts->redis, "SET baton:{damaged} x"));
    freeReplyObject(redis_process_command(&scripts->redis, "LPUSH baton:{a-list} x"));
}

/* Of each kind of reply one. */
static void call_each(struct scripts *scripts)
{
    acquire(scripts, .name = "new", .token = "n");
    renew(scripts, "damaged", "a", 0);
    acquire(scripts, .name = "held", .token = "b");
    release(scripts, "awaited", "a");
    renew(scripts, "other-release", "a", 0);
    acquire(scripts, .name = "ended", .token = "c");
    release(scripts, "a-list", "a");
    renew(scripts, "unknown", "a", 0);
    acquire(scripts, .name = "shared", .token = "s", .mode = "shared", .limit = 3);
    tick(scripts, "ticked", "one");
}

TEST_WITH_CLOCK(calls_of_a_command_have_their_own_replies)
{
    char error[TEXT];
    int64_t begun = scripts->clock_us;
    scripts->unwatched = true;
    prepare(scripts);
    recording_begin(scripts);
    call_each(scripts);
    struct recording *recording = recording_end(scripts);
    char *alone = redis_digest(scripts);
    redis_process_flush(&scripts->redis);
    scripts->clock_us = begun;
    prepare(scripts);
    assert_int_equal(recording_repeat(scripts, recording, error), 0);
    char *together = redis_digest(scripts);
    assert_string_equal(alone, together);
    free(alone);
    free(together);
}

TEST_WITH_CLOCK(command_that_comes_too_late_makes_none_of_its_calls)
{
    char error[TEXT];
    recording_begin(scripts);
    acquire(scripts, .name = "one", .token = "a");
    acquire(scripts, .name = "two", .token = "a");
    struct recording *recording = recording_end(scripts);
    redis_process_flush(&scripts->redis);
    scripts->latest_us = scripts->clock_us - 1;
    assert_int_equal(recording_repeat(scripts, recording, error), -1);
    assert_int_equal(strncmp(error, "LATE", 4), 0);
    assert_int_equal(key_count(scripts), 2); /* of the clock */
}

TEST_WITH_CLOCK(full_redis_makes_none_of_the_calls)
{
    char error[TEXT];
    recording_begin(scripts);
    acquire(scripts, .name = "one", .token = "a");
    renew(scripts, "one", "a", 0);
    struct recording *recording = recording_end(scripts);
    redis_process_flush(&scripts->redis);
    scripts_limit_memory(scripts, 1);
    assert_int_equal(recording_repeat(scripts, recording, error), -1);
    scripts_limit_memory(scripts, 0);
    assert_int_equal(strncmp(error, "OOM", 3), 0);
}

static void hold_many(struct scripts *scripts, const char *name)
{
    for (int i = 0; i < BATCH; i++) {
        char token[24];
        snprintf(token, sizeof token, "%d", i);
        acquire(scripts, .name = name, .token = token, .mode = "shared", .ttl_ms = 100);
    }
}

/* So Redis is blocked for about as long as one of them takes. */
TEST_WITH_CLOCK(calls_of_a_command_share_the_bound_of_one)
{
    char error[TEXT];
    scripts->unwatched = true;
    recording_begin(scripts);
    acquire(scripts, .name = "one", .token = "a");
    tick(scripts, "two", "");
    tick(scripts, "three", "");
    struct recording *recording = recording_end(scripts);
    redis_process_flush(&scripts->redis);
    hold_many(scripts, "two");
    hold_many(scripts, "three");
    sleep_past(scripts, 200);
    assert_int_not_equal(recording_repeat(scripts, recording, error), -1);
    assert_int_equal(inspect(scripts, "one", "").holds, 1);
    assert_int_equal(redis_process_integer(&scripts->redis, "HLEN baton:{two}:holds"), 0);
    assert_int_equal(redis_process_integer(&scripts->redis, "HLEN baton:{three}:holds"), BATCH);
}

RUN_TESTS(scripts_start, scripts_stop)
