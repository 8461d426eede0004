/* What waiting costs Redis: the calls of one operation, whatever the number of waiters. */
#include "tests/scripts/inboxes.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_QUEUE = 1000, NAMES = 1500, BATCH = 500 };

static const char *const SERVERS[] = {"one", "two", "three", "four"};

/* How many commands the scripts ran since reset_stats. */
static int64_t calls(struct scripts *scripts)
{
    static const char *const OURS[] = {"cmdstat_fcall:", "cmdstat_function|load:", "cmdstat_eval:",
                                       "cmdstat_info:", "cmdstat_config"};
    redisReply *stats = redis_process_command(&scripts->redis, "INFO commandstats");
    int64_t count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(stats->str, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        bool is_ours = false;
        for (size_t i = 0; i < sizeof OURS / sizeof OURS[0]; i++)
            is_ours |= strncmp(line, OURS[i], strlen(OURS[i])) == 0;
        const char *found = strstr(line, ":calls=");
        if (found && !is_ours)
            count += strtoll(found + strlen(":calls="), NULL, 10);
    }
    freeReplyObject(stats);
    return count;
}

static void park(struct scripts *scripts, const char *name, int first, int count, size_t servers)
{
    for (int i = first; i < first + count; i++) {
        char token[24];
        snprintf(token, sizeof token, "w%d", i);
        struct answer answer =
            acquire(scripts, .name = name, .token = token, .attempt = token, .token_is_new = true,
                    .claim_ms = 20000, .server = SERVERS[(size_t)i % servers]);
        assert_status(answer, "waiting");
    }
}

struct costs {
    int64_t park, release, claim, tick, leave;
};

/* One hand-over with so many waiters at so many servers. Who comes behind others is written beside
 * them: TIME, GET, the servers, and its record, its place and its server, with their expiries. */
static struct costs costs_of(struct scripts *scripts, int waiters, size_t servers)
{
    struct costs costs;
    redis_process_flush(&scripts->redis);
    scripts->unwatched = true;
    acquire(scripts, .token = "a");
    park(scripts, "n", 0, waiters, servers);
    reset_stats(scripts);
    park(scripts, "n", waiters, 1, servers);
    costs.park = calls(scripts);
    tick(scripts, "n", "one");
    reset_stats(scripts);
    tick(scripts, "n", "one");
    costs.tick = calls(scripts);
    reset_stats(scripts);
    assert_status(release(scripts, "n", "a"), "released");
    costs.release = calls(scripts);
    reset_stats(scripts);
    assert_status(acquire(scripts, .token = "w0", .attempt = "w0", .again = true, .server = "one"),
                  "claimed");
    costs.claim = calls(scripts);
    reset_stats(scripts);
    leave(scripts, .token = "w1", .attempt = "w1", .why = "gone");
    costs.leave = calls(scripts);
    print_message("%4d waiters at %zu servers: park %d calls, release %d, claim %d, tick %d, "
                  "leave %d\n",
                  waiters, servers, (int)costs.park, (int)costs.release, (int)costs.claim,
                  (int)costs.tick, (int)costs.leave);
    return costs;
}

TEST_ON_REDIS_TIME(a_hand_over_costs_the_same_however_many_wait)
{
    for (size_t servers = 1; servers <= 4; servers += 3) {
        costs_of(scripts, 1, 1);
        struct costs few = costs_of(scripts, 8, servers);
        struct costs many = costs_of(scripts, LONG_QUEUE, servers);
        assert_int_equal(few.park, many.park);
        assert_int_equal(many.park, 10);
        assert_int_equal(few.release, many.release);
        assert_int_equal(few.claim, many.claim);
        assert_int_equal(few.tick, many.tick);
        assert_int_equal(few.leave, many.leave);
        assert_true(many.release <= 14 + 2 * (int64_t)servers);
    }
}

/* The only one who waits is in the name's main key: TIME, GET, SET, and when it comes two looks
 * whether its token was released, and the release before it remembered. */
TEST_ON_REDIS_TIME(a_hand_over_to_the_only_one_costs_three_calls)
{
    scripts->unwatched = true;
    acquire(scripts, .token = "a");
    for (int round = 0; round < 3; round++) {
        char held[2] = {(char)('a' + round), '\0'}, next[2] = {(char)('b' + round), '\0'};
        reset_stats(scripts);
        acquire(scripts, .token = next, .attempt = next, .server = "one");
        assert_in_range(calls(scripts), 3, 8);
        reset_stats(scripts);
        assert_status(release_at(scripts, "n", held, "one"), "released");
        assert_int_equal(calls(scripts), 3);
    }
}

/* So do the others, whose server asks for the release and has the grant by the reply. */
TEST_ON_REDIS_TIME(a_hand_over_by_the_reply_costs_the_same_however_many_wait)
{
    for (int many = 3; many <= LONG_QUEUE; many += LONG_QUEUE - 3) {
        redis_process_flush(&scripts->redis);
        scripts->unwatched = true;
        acquire(scripts, .token = "a");
        park(scripts, "n", 0, many, 1);
        reset_stats(scripts);
        assert_string_equal(release_at(scripts, "n", "a", "one").next_attempt, "w0");
        assert_int_equal(calls(scripts), 11);
    }
}

/* Nobody enters the holds of an owner that batond has made, so none of its waiters are sought. */
TEST_ON_REDIS_TIME(a_hand_over_without_a_named_owner_costs_two_calls_less)
{
    scripts->unwatched = true;
    for (size_t i = 0; i < 4; i++)
        acquire(scripts, .token = SERVERS[i], .attempt = SERVERS[i], .owner = MADE "x",
                .token_is_new = true, .server = "one");
    reset_stats(scripts);
    assert_string_equal(release_at(scripts, "n", "one", "one").next_attempt, "two");
    assert_int_equal(calls(scripts), 9);
}

/* Who looks at a lock is told the first ten who wait, and pays for no more. */
TEST_ON_REDIS_TIME(a_look_costs_the_same_however_many_wait)
{
    int64_t costs[2];
    for (int many = 0; many < 2; many++) {
        redis_process_flush(&scripts->redis);
        scripts->unwatched = true;
        acquire(scripts, .token = "a");
        park(scripts, "n", 0, many ? LONG_QUEUE : 12, 4);
        reset_stats(scripts);
        assert_int_equal(inspect(scripts, "n", "").line, SHOWN);
        costs[many] = calls(scripts);
    }
    assert_int_equal(costs[0], costs[1]);
}

TEST_ON_REDIS_TIME(a_look_at_a_lock_that_nobody_or_one_waits_for_costs_two_calls)
{
    scripts->unwatched = true;
    acquire(scripts, .token = "a");
    for (size_t waiters = 0; waiters < 2; waiters++) {
        reset_stats(scripts);
        assert_int_equal(inspect(scripts, "n", "").line, waiters);
        assert_int_equal(calls(scripts), 2);
        park(scripts, "n", 0, 1, 1);
    }
}

/* Neither do holds: a limit of a thousand, all taken. */
TEST_ON_REDIS_TIME(a_hand_over_costs_the_same_however_many_hold)
{
    int64_t costs[2];
    for (int many = 0; many < 2; many++) {
        int holds = many ? LONG_QUEUE : 3;
        redis_process_flush(&scripts->redis);
        scripts->unwatched = true;
        for (int i = 0; i < holds; i++) {
            char token[24];
            snprintf(token, sizeof token, "h%d", i);
            acquire(scripts, .token = token, .mode = "shared", .limit = holds);
        }
        for (int i = 0; i < 3; i++)
            acquire(scripts, .token = SERVERS[i], .mode = "shared", .limit = holds,
                    .server = "one");
        reset_stats(scripts);
        assert_status(release(scripts, "n", "h1"), "released");
        costs[many] = calls(scripts);
        assert_int_equal(inspect(scripts, "n", "one").mine, 1);
    }
    assert_int_equal(costs[0], costs[1]);
}

/* Nor do those of an owner whose holds are entered: they are read once. */
TEST_ON_REDIS_TIME(many_that_enter_at_once_look_at_the_holds_of_their_owner_once)
{
    int64_t costs[2];
    for (int many = 0; many < 2; many++) {
        redis_process_flush(&scripts->redis);
        scripts->unwatched = true;
        acquire(scripts, .token = "x");
        for (int i = 0; i < (many ? 100 : 10); i++) {
            char token[24];
            snprintf(token, sizeof token, "w%d", i);
            acquire(scripts, .token = token, .token_is_new = true, .owner = "o", .reenters = true,
                    .server = "one", .claim_ms = 20000);
        }
        reset_stats(scripts);
        assert_status(release(scripts, "n", "x"), "released");
        costs[many] = calls_of(scripts, "hmget");
        assert_int_equal(inspect(scripts, "n", "").holds, many ? 100 : 10);
    }
    assert_int_equal(costs[0], costs[1]);
}

/* Of a very long run of shared waiters the rest is granted by the tick that follows at once. */
TEST_WITH_CLOCK(a_long_run_is_granted_in_parts)
{
    enum { RUN = 2100, PART = 1000 };
    struct inboxes *inboxes = calloc(1, sizeof *inboxes);
    scripts->unwatched = true;
    acquire(scripts, .token = "x");
    for (int i = 0; i < RUN; i++) {
        char token[24];
        snprintf(token, sizeof token, "w%d", i);
        acquire(scripts, .token = token, .token_is_new = true, .mode = "shared", .server = "one",
                .claim_ms = 60000);
    }
    inboxes_open(inboxes, scripts);
    assert_status(release(scripts, "n", "x"), "released");
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one g "), PART);
    assert_int_equal(inboxes_count(inboxes, "one n 0 baton:{n}"), 1);
    assert_status(acquire(scripts, .token = "late", .mode = "shared"), "locked");
    inboxes_read(inboxes);
    assert_int_equal(inboxes_count(inboxes, "one g "), PART);
    assert_int_equal(inboxes_count(inboxes, "one n 0 baton:{n}"), 1);
    assert_in_range(tick(scripts, "n", "one").next_ms, 20000, 30000);
    assert_int_equal(inspect(scripts, "n", "").holds, RUN);
    inboxes_close(inboxes);
    free(inboxes);
}

/* What becomes of many waiters of a server that has died is done in portions, too; and until that
 * is done nobody passes those of them who keep their place. */
TEST_WITH_CLOCK(many_waiters_of_a_dead_server_are_looked_after_in_parts)
{
    enum { WAITERS = 2500, KEEPERS = 1200, LEASE = 10000 };
    scripts->unwatched = true;
    acquire(scripts, .token = "x", .ttl_ms = 600000);
    for (int i = 0; i < WAITERS; i++) {
        char token[24];
        snprintf(token, sizeof token, "w%d", i);
        acquire(scripts, .token = token, .token_is_new = true, .server = "two", .lease_ms = LEASE,
                .keep_ms = i < KEEPERS ? 60000 : 0);
    }
    acquire(scripts, .token = "last", .token_is_new = true, .server = "one",
            .lease_ms = 10 * LEASE);
    sleep_past(scripts, LEASE);
    scripts->is_impatient = true;
    for (int left = WAITERS - 1000; left > 0; left -= 1000) {
        assert_status(release(scripts, "n", "x"), "unfinished");
        assert_int_equal(
            redis_process_integer(&scripts->redis, "ZCARD %s", key_of("n", ":queue:two").text),
            left);
    }
    scripts->is_impatient = false;
    struct seen seen = inspect(scripts, "n", "");
    assert_int_equal(scripts->turns, 1);
    assert_int_equal(seen.waiters, KEEPERS + 1);
    assert_status(release(scripts, "n", "x"), "released");
    assert_int_equal(inspect(scripts, "n", "w0").mine, 1);
    scripts->is_impatient = true; /* and where they do not come back, they give up in portions */
    sleep_past(scripts, 60000 + 5000);
    int64_t waiters = KEEPERS;
    while (strcmp(try_inspect(scripts, "n", "").status, "unfinished") == 0)
        waiters -= 1000;
    assert_in_range(waiters, 0, 1000);
}

TEST_ON_REDIS_TIME(the_common_case_costs_three_calls_once_nobody_waits_any_more)
{
    acquire(scripts, .token = "a");
    acquire(scripts, .token = "w", .attempt = "w", .server = "one");
    release(scripts, "n", "a");
    acquire(scripts, .token = "w", .attempt = "w", .server = "one", .again = true);
    release(scripts, "n", "w");
    scripts->unwatched = true;
    reset_stats(scripts);
    assert_status(acquire(scripts, .token = "b", .token_is_new = true), "granted");
    assert_int_equal(calls(scripts), 3);
    reset_stats(scripts);
    assert_status(release(scripts, "n", "b"), "released");
    assert_in_range(calls(scripts), 3, 6); /* the release before has to be kept in mind */
}

/* All that these need while nothing happens, once in a lease of ten seconds. */
static void heartbeat_for(struct scripts *scripts, int waiters, size_t servers, int calls_each,
                          const char *read, const char *write)
{
    static char names[NAMES][16];
    static const char *pointers[NAMES];
    struct standing standing[BATCH];
    scripts->unwatched = true;
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "name%d", i);
        pointers[i] = names[i];
        acquire(scripts, .name = names[i], .token = "a", .token_is_new = true);
        park(scripts, names[i], 0, waiters, servers);
    }
    heartbeat(scripts, "one", 10000, 1, pointers, standing);
    reset_stats(scripts);
    for (int i = 0; i < NAMES; i += BATCH)
        heartbeat(scripts, "one", 10000, BATCH, pointers + i, standing);
    assert_int_equal(calls_of(scripts, read), NAMES);
    assert_int_equal(calls_of(scripts, write), NAMES);
    assert_true(calls(scripts) < calls_each * NAMES + 5 * NAMES / BATCH);
}

TEST_ON_REDIS_TIME(heartbeat_costs_few_calls_for_each_name)
{
    heartbeat_for(scripts, 1, 1, 2, "get", "setrange");
    redis_process_flush(&scripts->redis);
    heartbeat_for(scripts, 2, 2, 4, "hget", "hset");
}

RUN_TESTS(scripts_start, scripts_stop)
