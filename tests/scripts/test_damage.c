/* What somebody else has written to the keys of a name, and scripts that were cut off on their way.
 */
#include "tests/scripts/inboxes.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a row of a table has run. */
#define STEP(name, ...)                                                                            \
    static void name(struct scripts *scripts)                                                      \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

/* Kinds of damage */

STEP(share, acquire(scripts, .name = "bad", .token = "a", .mode = "shared");
     acquire(scripts, .name = "bad", .token = "b", .mode = "shared"))
STEP(await, acquire(scripts, .name = "bad", .token = "a");
     acquire(scripts, .name = "bad", .token = "b", .server = "one"))

static void queue(struct scripts *scripts)
{
    acquire(scripts, .name = "bad", .token = "a");
    acquire(scripts, .name = "bad", .token = "b", .server = "one");
    acquire(scripts, .name = "bad", .token = "c", .server = "two");
}

STEP(hold, acquire(scripts, .name = "bad", .token = "a"))

static void none(struct scripts *scripts)
{
    (void)scripts;
}

/* In Lua: `k` is the name's main key, `r` what is in it. */
static const struct {
    void (*prepare)(struct scripts *scripts);
    const char *script;
} DAMAGES[] = {
    {none, "call('set', k, 'x')"},
    {none, "call('set', k, '')"},
    {none, "call('rpush', k, 'x')"},
    {none, "call('hset', k, 'x', 'y')"},
    {none, "call('set', k, string.rep('\\0', 200))"},
    {hold, "call('setrange', k, 0, '\\255\\255\\255\\255\\255\\255\\239\\127')"},
    {hold, "call('setrange', k, 1, '\\4')"}, /* a layout that there is not */
    {hold, "call('setrange', k, 1, '\\255')"},
    {hold, "call('setrange', k, 10, struct.pack('<d', 0 / 0))"}, /* its end */
    {hold, "call('setrange', k, 10, struct.pack('<d', 1 / 0))"},
    {hold, "call('setrange', k, 10, struct.pack('<d', -1))"},
    {hold, "call('set', k, string.sub(r, 1, 60))"},
    {hold, "call('set', k, string.sub(r, 1, #r - 3))"},
    {await, "call('setrange', k, 10, struct.pack('<d', 0 / 0))"},
    {await, "call('set', k, string.sub(r, 1, #r - 3))"},
    {share, "call('set', k .. ':holds', 'x')"},
    {share, "call('hset', k .. ':holds', 'a', 'x', 'b', 'y')"},
    {share, "call('set', k .. ':expiries', 'x')"},
    {queue, "call('set', k .. ':servers', 'x')"},
    {queue, "call('hset', k .. ':servers', 'one', 'x')"},
    {queue, "call('set', k .. ':waiters', 'x')"},
    {queue, "call('set', k .. ':queue:one', 'x')"},
};

static void damage_by(struct scripts *scripts, const char *script)
{
    char text[300];
    snprintf(text, sizeof text,
             "local k, call = 'baton:{bad}', redis.call local r = call('get', k) %s", script);
    redisReply *reply = redis_process_command(&scripts->redis, "EVAL %s 0", text);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", script, reply->str);
    freeReplyObject(reply);
}

static bool was_named(const struct scripts *scripts)
{
    for (size_t i = 0; i < scripts->damaged_count; i++)
        if (strcmp(scripts->damaged[i], "baton:{bad}") == 0)
            return true;
    return false;
}

static void assert_list(struct scripts *scripts, size_t count)
{
    struct page *page = list(scripts, "0", "baton:{*}", 100, 1000, NULL, 0);
    assert_string_equal(page->error, "");
    assert_int_equal(page->count, count);
    free(page);
}

static int64_t damage(struct scripts *scripts, size_t kind)
{
    scripts_clean((void **)&scripts);
    scripts->unwatched = true;
    acquire(scripts, .name = "good", .token = "good");
    DAMAGES[kind].prepare(scripts);
    int64_t fence = acquire(scripts, .name = "bad", .token = "a").fence;
    if (DAMAGES[kind].prepare == none)
        delete_key(scripts, "bad", "");
    damage_by(scripts, DAMAGES[kind].script);
    return fence;
}

/* What can be read of a name that was damaged is as good as any. */
TEST_ON_REDIS_TIME(unreadable_record_is_left_out_and_cleared)
{
    for (size_t i = 0; i < sizeof DAMAGES / sizeof DAMAGES[0]; i++) {
        int64_t fence = damage(scripts, i);
        assert_list(scripts, 1);
        if (!was_named(scripts))
            fail_msg("damage %zu is not named", i);
        assert_true(count_holds(scripts, 1000, NULL) >= 1);
        if (strcmp(try_inspect(scripts, "bad", "").status, "seen") == 0)
            fail_msg("damage %zu is seen", i);
        assert_int_equal(inspect(scripts, "good", "good").mine, 1);
        assert_status(break_all(scripts, "bad"), "broken");
        assert_int_equal(inspect(scripts, "bad", "").holds, 0);
        struct answer again = acquire(scripts, .name = "bad", .token = "new");
        assert_status(again, "granted");
        assert_true(again.fence > fence);
        assert_list(scripts, 2);
        assert_false(was_named(scripts));
    }
}

/* Each looks at the head of a record, though the common cases look at no more than they need. */
TEST_ON_REDIS_TIME(damaged_record_of_plain_name_is_refused_by_each_operation)
{
    for (size_t i = 0; i < sizeof DAMAGES / sizeof DAMAGES[0]; i++) {
        if (!strstr(DAMAGES[i].script, "setrange"))
            continue;
        damage(scripts, i);
        const struct answer answers[] = {
            acquire(scripts, .name = "bad", .token = "x", .token_is_new = true),
            acquire(scripts, .name = "bad", .token = "x", .server = "one"),
            renew(scripts, "bad", "a", 1000),
            release(scripts, "bad", "a"),
            tick(scripts, "bad", "one"),
        };
        for (size_t j = 0; j < sizeof answers / sizeof answers[0]; j++)
            if (!strstr(answers[j].status, "ERR") && !strstr(answers[j].status, "user_function"))
                fail_msg("damage %zu, operation %zu: %s", i, j, answers[j].status);
    }
}

TEST_ON_REDIS_TIME(waiters_are_notified_to_ask_again)
{
    struct inboxes inboxes;
    scripts->unwatched = true;
    queue(scripts);
    damage_by(scripts, "call('set', k .. ':waiters', 'x')");
    inboxes_open(&inboxes, scripts);
    assert_status(break_all(scripts, "bad"), "broken");
    assert_notified(&inboxes, "one s baton:{bad}", "two s baton:{bad}");
    inboxes_close(&inboxes);
    assert_status(acquire(scripts, .name = "bad", .token = "b", .server = "one"), "granted");
}

/* Nothing of it is stored, so each look would report it. */
TEST_WITH_CLOCK(an_expiry_that_cannot_be_stored_is_not_reported)
{
    scripts->unwatched = true;
    acquire(scripts, .name = "good", .token = "good");
    queue(scripts);
    damage_by(scripts, "call('set', k .. ':servers', 'x')");
    sleep_past(scripts, 31000);
    assert_list(scripts, 0);
    assert_true(was_named(scripts));
    assert_int_equal(scripts->expired_count, 1);
    assert_string_equal(scripts->expired[0].owner, "good");
}

TEST_ON_REDIS_TIME(a_record_without_an_expiry_is_used_and_gets_one)
{
    hold(scripts);
    redis_process_integer(&scripts->redis, "PERSIST baton:{bad}");
    assert_status(release(scripts, "bad", "a"), "released");
    assert_true(redis_process_integer(&scripts->redis, "PTTL baton:{bad}") > 0);
}

/* Has the script write the record of "n" as an earlier build did: with `now`, which is returned,
 * `ends` of a hold and `far` behind that. */
static int64_t write_earlier(struct scripts *scripts, const char *script)
{
    static const char TIMES[] =
        "local now = tonumber(ARGV[1]) local ends, far = now + 30000000, now + 600000000 ";
    int64_t now = redis_now(scripts);
    char whole[2000];
    int length = snprintf(whole, sizeof whole, "%s%s return 1", TIMES, script);
    assert_in_range(length, 1, sizeof whole - 1);
    redisReply *reply =
        redis_process_command(&scripts->redis, "EVAL %s 1 baton:{n} %lld", whole, (long long)now);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
    return now;
}

/* Format 3 had no record of its own for a name that is held and waited for. */
TEST_ON_REDIS_TIME(front_of_a_state_of_format_3_is_read_and_written_anew)
{
    write_earlier(
        scripts,
        "local state = struct.pack('<BBdI4I4I4I4I4I4I4I4I4ddddsddddddsss', 5, 0, now, 1, 1, 0, 1, "
        "0, 0, 0, 0, 1, ends, 0, ends, far, '', 0, now, now - 9, now - 8, 7, 0, 'released', "
        "'before', 'Z') "
        "local function texts(token, owner, attempt) return "
        "struct.pack('<Bsssss', 3, token, owner, 'exclusive', attempt, '') end "
        "local hold = texts('a', 'A', 'known') .. "
        "struct.pack('<ddddddI4dI4', now, now, ends, 30000, 0, 0, 0, 0, 1) "
        "local waiter = texts('b', 'B', 'q') .. struct.pack('<ddddddI4dI4dddsB', 0, now, 0, 9000, "
        "0, 0, 0, 0, 1, 5000, 0, now, 'one', 0) "
        "redis.call('set', KEYS[1], state .. hold .. waiter .. struct.pack('<d', far), "
        "'px', 4000000)");
    struct seen seen = inspect(scripts, "n", "a");
    assert_int_equal(seen.mine, 1);
    assert_int_equal(seen.waiters, 1);
    assert_string_equal(seen.last_owner, "Z");
    assert_true(renew(scripts, "n", "a", 40000).ttl_ms == 40000);
    assert_int_equal(redis_process_integer(&scripts->redis, "EVAL %s 1 baton:{n}",
                                           "return string.byte(redis.call('get', KEYS[1]), 2)"),
                     3);
    assert_status(release(scripts, "n", "a"), "released");
    assert_status(acquire(scripts, .token = "b", .attempt = "q", .again = true, .server = "one"),
                  "claimed");
}

/* Release 0.2 leaves nobody in front when it hands over to the first of several at one server. */
TEST_ON_REDIS_TIME(waiters_behind_a_vacant_front_are_granted_in_their_order)
{
    write_earlier(
        scripts,
        "local state = struct.pack('<BBdI4I4I4I4I4I4I4I4I4ddddsddddddsss', 5, 0, now, 1, 1, 0, 2, "
        "0, 0, 0, 0, 1, ends, 0, ends, far, '', 0, now + 2, now - 9, now - 8, 7, 0, '', '', '') "
        "local function texts(token, attempt) return "
        "struct.pack('<Bsssss', 3, token, token, 'exclusive', attempt, '') end "
        "local hold = texts('a', 'known') .. "
        "struct.pack('<ddddddI4dI4', now, now, ends, 30000, 0, 0, 0, 0, 1) "
        "local function waiter(token, place) return texts(token, token) .. "
        "struct.pack('<ddddddI4dI4dddsB', 0, place, 0, 9000, 0, 0, 0, 0, 1, 5000, 0, place, 'one', "
        "0) end "
        "redis.call('set', KEYS[1], state .. hold .. waiter('', 0) .. struct.pack('<d', far), "
        "'px', 4000000) "
        "for place, token in ipairs({'b', 'c'}) do "
        "redis.call('hset', KEYS[1] .. ':waiters', token, waiter(token, now + place)) "
        "redis.call('zadd', KEYS[1] .. ':queue:one', string.format('%d', now + place), token) end "
        "redis.call('pexpire', KEYS[1] .. ':waiters', 180000) "
        "redis.call('pexpire', KEYS[1] .. ':queue:one', 180000)");
    struct standing standing;
    heartbeat(scripts, "one", 10000, 1, (const char *const[]){"n"}, &standing);
    assert_int_equal(standing.waits, 2);
    assert_string_equal(release_at(scripts, "n", "a", "one").next_attempt, "b");
    assert_string_equal(release_at(scripts, "n", "b", "one").next_attempt, "c");
    assert_status(release_at(scripts, "n", "c", "one"), "released");
}

/* Cut off */

STEP(acquire_new, acquire(scripts, .token = "x", .token_is_new = true))
STEP(wait_new, acquire(scripts, .token = "x", .server = "one", .keep_ms = 1000))
STEP(wait_elsewhere, acquire(scripts, .token = "y", .server = "two", .keep_ms = 1000))
STEP(upgrade, acquire(scripts, .token = "x", .owner = "a", .reenters = true, .server = "one"))
STEP(share_x, acquire(scripts, .token = "x", .mode = "shared"))
STEP(release_a, release_at(scripts, "n", "a", "one"))
STEP(renew_a, renew(scripts, "n", "a", 7200000))
STEP(leave_b, leave(scripts, .token = "b", .attempt = "b", .why = "timeout", .keep_ms = 1000))
STEP(drain_b, leave(scripts, .token = "b", .attempt = "b", .why = "drain", .keep_ms = 1000))
STEP(gone_b, leave(scripts, .token = "b", .attempt = "b", .why = "gone", .keep_ms = 1000))
STEP(watch_n, watch(scripts, "n", "three", 1000))

static void heartbeat_n(struct scripts *scripts)
{
    struct standing standing;
    heartbeat(scripts, "one", 1000, 1, (const char *const[]){"n"}, &standing);
}

STEP(tick_n, tick(scripts, "n", "one"))
STEP(break_n, break_all(scripts, "n"))
STEP(raise_n, raise_to(scripts, "n", "a", redis_now(scripts) + 1000000, 0, NULL))

/* What there is before: */

STEP(a_quarantine, scripts->opens_us = scripts->clock_us + 60000000)
STEP(released_once, acquire(scripts, .token = "z"); release(scripts, "n", "z"))
STEP(one, released_once(scripts); acquire(scripts, .token = "a", .attempt = "a"))
STEP(one_shared, released_once(scripts); acquire(scripts, .token = "a", .mode = "shared"))
STEP(two_shared, one_shared(scripts); acquire(scripts, .token = "b", .mode = "shared"))

static void two_shared_that_end(struct scripts *scripts)
{
    two_shared(scripts);
    acquire(scripts, .token = "w", .server = "one", .keep_ms = 1000);
    sleep_past(scripts, 40000);
}

STEP(one_waits, one(scripts);
     acquire(scripts, .token = "b", .attempt = "b", .server = "one", .keep_ms = 1000))
STEP(two_wait, one_waits(scripts); acquire(scripts, .token = "c", .server = "one"))
STEP(two_wait_apart, one_waits(scripts);
     acquire(scripts, .token = "c", .server = "two", .keep_ms = 1000))

static void it_was_not_claimed(struct scripts *scripts)
{
    two_wait_apart(scripts);
    release(scripts, "n", "a");
    sleep_past(scripts, 6000);
}

STEP(one_is_absent, one_waits(scripts); leave_b(scripts))

static void its_turn_is_missed(struct scripts *scripts)
{
    one_is_absent(scripts);
    release(scripts, "n", "a");
    sleep_past(scripts, 6000);
}

#define NAMED(function) #function, function
static const struct {
    const char *before_name;
    void (*before)(struct scripts *scripts);
    const char *name;
    void (*run)(struct scripts *scripts);
} CUTS[] = {
    {NAMED(none), NAMED(acquire_new)},
    {NAMED(none), NAMED(wait_new)},
    {NAMED(none), NAMED(watch_n)},
    {NAMED(none), NAMED(break_n)},
    {NAMED(a_quarantine), NAMED(wait_new)},
    {NAMED(a_quarantine), NAMED(acquire_new)},
    {NAMED(released_once), NAMED(wait_new)},
    {NAMED(one), NAMED(wait_new)},
    {NAMED(one), NAMED(watch_n)},
    {NAMED(one), NAMED(renew_a)},
    {NAMED(one), NAMED(release_a)},
    {NAMED(one), NAMED(raise_n)},
    {NAMED(one_shared), NAMED(share_x)},
    {NAMED(one_shared), NAMED(upgrade)},
    {NAMED(two_shared), NAMED(share_x)},
    {NAMED(two_shared), NAMED(upgrade)},
    {NAMED(two_shared), NAMED(renew_a)},
    {NAMED(two_shared), NAMED(release_a)},
    {NAMED(two_shared), NAMED(break_n)},
    {NAMED(two_shared_that_end), NAMED(tick_n)},
    {NAMED(two_shared_that_end), NAMED(wait_elsewhere)},
    {NAMED(one_waits), NAMED(wait_new)},
    {NAMED(one_waits), NAMED(wait_elsewhere)},
    {NAMED(one_waits), NAMED(release_a)},
    {NAMED(one_waits), NAMED(leave_b)},
    {NAMED(one_waits), NAMED(drain_b)},
    {NAMED(one_waits), NAMED(gone_b)},
    {NAMED(one_waits), NAMED(heartbeat_n)},
    {NAMED(one_waits), NAMED(break_n)},
    {NAMED(two_wait), NAMED(wait_new)},
    {NAMED(two_wait), NAMED(wait_elsewhere)},
    {NAMED(two_wait), NAMED(release_a)},
    {NAMED(two_wait), NAMED(leave_b)},
    {NAMED(two_wait_apart), NAMED(wait_new)},
    {NAMED(two_wait_apart), NAMED(release_a)},
    {NAMED(two_wait_apart), NAMED(heartbeat_n)},
    {NAMED(two_wait_apart), NAMED(drain_b)},
    {NAMED(it_was_not_claimed), NAMED(tick_n)},
    {NAMED(one_is_absent), NAMED(release_a)},
    {NAMED(one_is_absent), NAMED(wait_new)},
    {NAMED(its_turn_is_missed), NAMED(tick_n)},
};

enum { CALLS_MOST = 100 };

static void every_key_has_an_expiry(struct scripts *scripts, size_t cut)
{
    redisReply *keys = redis_process_command(&scripts->redis, "KEYS baton:*");
    for (size_t i = 0; i < keys->elements; i++)
        if (redis_process_integer(&scripts->redis, "PTTL %s", keys->element[i]->str) == -1)
            fail_msg("%s, %s, cut at call %d: %s has no expiry", CUTS[cut].before_name,
                     CUTS[cut].name, scripts->cut_at, keys->element[i]->str);
    freeReplyObject(keys);
}

/* What was written until then is not taken back by Redis. It ends by itself, and is in nobody's way
 * for longer than the holds and places that it was about. */
static bool is_cut(struct scripts *scripts, size_t cut, int call)
{
    scripts_clean_with_own_clock((void **)&scripts);
    scripts->unwatched = true;
    CUTS[cut].before(scripts);
    scripts->cut_at = call;
    scripts->was_cut = false;
    CUTS[cut].run(scripts);
    bool was_cut = scripts->was_cut;
    every_key_has_an_expiry(scripts, cut);
    scripts->cut_at = 0;
    scripts->opens_us = 0;
    struct answer seen = try_inspect(scripts, "n", "");
    if (strcmp(seen.status, "seen") != 0)
        fail_msg("%s, %s, cut at call %d: %s", CUTS[cut].before_name, CUTS[cut].name, call,
                 seen.status);
    sleep_past(scripts, 3 * 3600 * 1000);
    struct answer later = acquire(scripts, .token = "later");
    if (strcmp(later.status, "granted") != 0)
        fail_msg("%s, %s, cut at call %d: later %s", CUTS[cut].before_name, CUTS[cut].name, call,
                 later.status);
    return was_cut;
}

TEST_ON_REDIS_TIME(wherever_a_script_is_cut_off_each_key_ends)
{
    for (size_t i = 0; i < sizeof CUTS / sizeof CUTS[0]; i++) {
        int call = 1, cuts = 0, last = 0;
        for (; call < CALLS_MOST && call - last < 8; call++)
            if (is_cut(scripts, i, call)) {
                cuts++;
                last = call;
            }
        assert_true(cuts > 0);
        assert_true(call < CALLS_MOST);
    }
}

/* A hold that has ended is gone from one key of the hold set and not yet from another. */
TEST_ON_REDIS_TIME(an_end_that_was_cut_off_frees_nobody_else)
{
    int cuts = 0;
    for (int call = 1; call < CALLS_MOST / 4; call++) {
        scripts_reset_with_own_clock(scripts);
        scripts->unwatched = true;
        acquire(scripts, .token = "a", .mode = "shared", .ttl_ms = 2000);
        acquire(scripts, .token = "b", .mode = "shared", .ttl_ms = 9000);
        sleep_past(scripts, 3000);
        scripts->cut_at = call;
        tick_n(scripts);
        cuts += scripts->was_cut;
        scripts->cut_at = 0;
        assert_status(acquire(scripts, .token = "z"), "locked");
        assert_status(renew(scripts, "n", "b", 4000), "renewed");
        sleep_past(scripts, 5000);
        assert_status(acquire(scripts, .token = "z"), "granted");
    }
    assert_true(cuts > 0);
}

RUN_SCRIPT_TESTS
