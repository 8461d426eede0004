/* Calls over a healthy connection: replies, their order, forgotten scripts, errors. */
#include "tests/redis/fake_redis.h"
#include "tests/redis/store_fixture.h"
#include "tests/support/cmocka.h"
#include "tests/support/redis_process.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";
static const char REPEAT[] = "return ARGV[1]";
static const char SET[] = "return redis.call('SET', KEYS[1], ARGV[1])";

struct world {
    struct redis_process redis;
    struct store_fixture store;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    redis_process_start(&world->redis, NULL);
    store_fixture_open_up(&world->store, world->redis.url);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    store_fixture_close(&world->store);
    redis_process_stop(&world->redis);
    free(world);
    return 0;
}

static void a_reply_reaches_its_caller(void **state)
{
    struct world *world = *state;
    struct outcome number = store_fixture_run(&world->store, COUNT, "a", "");
    assert_int_equal(number.outcome, STORE_REPLIED);
    assert_int_equal(number.integer, 1);
    struct outcome text = store_fixture_run(&world->store, REPEAT, "a", "hello");
    assert_string_equal(text.text, "hello");
    struct outcome status = store_fixture_run(&world->store, SET, "b", "x");
    assert_string_equal(status.text, "OK");
    assert_int_equal(world->store.downs, 0);
    assert_int_equal(world->store.warnings, 0);
}

struct shape {
    int seen;
};

static void check_shape(void *context, const struct store_result *result)
{
    struct shape *shape = context;
    int64_t number = 0;
    struct slice text = {NULL, 0};
    const struct value *reply = result->reply;
    assert_int_equal(result->outcome, STORE_REPLIED);
    assert_int_equal(value_count(reply), 4);
    assert_true(value_text(value_at(reply, 0), &text));
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.bytes, "a\0b\r\n", 5);
    assert_true(value_text(value_at(reply, 1), &text));
    assert_int_equal(text.length, 0);
    assert_true(value_text(value_at(reply, 2), &text));
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.bytes, "k\0y", 3);
    assert_int_equal(value_count(value_at(reply, 3)), 2);
    assert_true(value_integer(value_at(value_at(reply, 3), 1), &number));
    assert_int_equal(number, 9007199254740991);
    assert_null(value_at(reply, 4));
    shape->seen++;
}

static void keys_and_arguments_may_hold_any_bytes(void **state)
{
    struct world *world = *state;
    struct shape shape = {0};
    struct slice arguments[] = {{"a\0b\r\n", 5}, {NULL, 0}};
    store_eval(world->store.store,
               fixture_script("return {ARGV[1], ARGV[2], KEYS[1], {1, 9007199254740991}}"),
               (struct slice){"k\0y", 3}, arguments, 2, check_shape, &shape);
    store_fixture_await(&world->store, &shape.seen, 1);
}

static void pipelined_calls_keep_their_order(void **state)
{
    struct world *world = *state;
    enum { MANY = 2000 };
    struct outcome *outcomes = calloc(MANY, sizeof *outcomes);
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i],
                           fixture_script(i % 3 ? COUNT : "return redis.call('INCR', KEYS[1]) + 0"),
                           "n", "");
    store_fixture_await(&world->store, &world->store.ended, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 1);
        assert_int_equal(outcomes[i].turn, i + 1);
    }
    assert_int_equal(redis_process_calls(&world->redis, "evalsha"), MANY);
    assert_int_equal(store_figures(world->store.store).calls, MANY);
    assert_int_equal(store_figures(world->store.store).connects, 1);
    free(outcomes);
}

static void large_arguments_pass(void **state)
{
    struct world *world = *state;
    enum { SIZE = 3 << 20, MANY = 8 };
    char *large = malloc(SIZE + 1);
    memset(large, 'x', SIZE);
    large[SIZE] = '\0';
    struct outcome outcomes[MANY];
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script("return #ARGV[1]"), "a",
                           large);
    store_fixture_await(&world->store, &world->store.ended, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(outcomes[i].integer, SIZE);
    free(large);
}

static void a_script_is_sent_once_for_a_connection(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 10; i++)
        store_fixture_run(&world->store, COUNT, "a", "");
    assert_int_equal(redis_process_calls(&world->redis, "script|load"), 1);
    assert_int_equal(redis_process_calls(&world->redis, "evalsha"), 10);
    assert_int_equal(redis_process_calls(&world->redis, "eval"), 0);
}

static void a_forgotten_script_is_loaded_again(void **state)
{
    struct world *world = *state;
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
    freeReplyObject(redis_process_command(&world->redis, "SCRIPT FLUSH"));

    enum { MANY = 50 };
    struct outcome outcomes[MANY];
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script(COUNT), "a", "");
    store_fixture_await(&world->store, &world->store.ended, MANY + 1);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 2); /* each once, and in order */
    }
    assert_int_equal(redis_process_calls(&world->redis, "script|load"), 2);
    assert_int_equal(world->store.downs, 0);
}

static void a_refused_write_is_no_doubt(void **state)
{
    struct world *world = *state;
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 1"));
    struct outcome full = store_fixture_run(&world->store, SET, "a", "x");
    assert_int_equal(full.outcome, STORE_REFUSED);
    assert_non_null(strstr(full.error, "OOM"));
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 0"));
    assert_int_equal(store_fixture_run(&world->store, SET, "a", "x").outcome, STORE_REPLIED);
    assert_int_equal(world->store.downs, 0);
}

static void a_script_that_fails_halfway_leaves_a_doubt(void **state)
{
    struct world *world = *state;
    struct outcome failed = store_fixture_run(
        &world->store, "redis.call('SET', KEYS[1], 'x'); return redis.call('LPUSH', KEYS[1], 'y')",
        "a", "");
    assert_int_equal(failed.outcome, STORE_IN_DOUBT);
    assert_non_null(strstr(failed.error, "WRONGTYPE"));
    assert_int_equal(redis_process_integer(&world->redis, "EXISTS a"), 1);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "b", "").integer, 1);
}

static void a_busy_redis_refuses(void **state)
{
    struct world *world = *state;
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET lua-time-limit 50"));
    redisAppendCommand(world->redis.link, "EVAL %s 0",
                       "local n = 0; while n < 3e8 do n = n + 1 end; return 1");
    int written = 0;
    while (!written)
        redisBufferWrite(world->redis.link, &written);
    store_fixture_idle(&world->store, 200);
    struct outcome busy = store_fixture_run(&world->store, COUNT, "a", "");
    assert_int_equal(busy.outcome, STORE_REFUSED);
    assert_non_null(strstr(busy.error, "BUSY"));
    redisContext *killer = redisConnectUnix(world->redis.socket);
    freeReplyObject(redisCommand(killer, "SCRIPT KILL"));
    redisFree(killer);
    void *reply = NULL;
    assert_int_equal(redisGetReply(world->redis.link, &reply), REDIS_OK);
    freeReplyObject(reply);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
}

/* Against a server that never remembers a script. */
static void loading_again_has_an_end(void **state)
{
    (void)state;
    static const struct fake_answers FORGETFUL = {
        .info = "redis_version:7.0.0\r\n",
        .load = "+0123456789012345678901234567890123456789\r\n",
        .eval = "-NOSCRIPT No matching script. Please use EVAL.\r\n",
    };
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &FORGETFUL);
    store_fixture_open_up(&store, fake.url);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_REFUSED);
    assert_non_null(strstr(outcome.error, "NOSCRIPT"));
    assert_in_range(atomic_load(&fake.commands), 3, 30);
    store_fixture_close(&store);
    fake_redis_stop(&fake);
}

/* As where SCRIPT FLUSH comes again and again, each time between the script and its call. */
static void a_script_that_is_forgotten_some_times_is_run(void **state)
{
    (void)state;
    static const struct fake_answers ABSENT_MINDED = {
        .info = "redis_version:7.0.0\r\n",
        .load = "+0123456789012345678901234567890123456789\r\n",
        .eval = ":7\r\n",
        .forgets = 6,
    };
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &ABSENT_MINDED);
    store_fixture_open_up(&store, fake.url);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_REPLIED);
    assert_int_equal(outcome.integer, 7);
    store_fixture_close(&store);
    fake_redis_stop(&fake);
}

static void a_script_that_may_not_be_loaded_says_why(void **state)
{
    (void)state;
    static const struct fake_answers FORBIDDING = {
        .info = "redis_version:7.0.0\r\n",
        .load = "-NOPERM this user has no permissions to run the 'script|load' command\r\n",
        .eval = "-NOSCRIPT No matching script. Please use EVAL.\r\n",
    };
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &FORBIDDING);
    store_fixture_open_up(&store, fake.url);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_REFUSED);
    assert_non_null(strstr(outcome.error, "script|load"));
    store_fixture_close(&store);
    fake_redis_stop(&fake);
}

static void count_error(void *context, const char *error)
{
    *(int *)context += error != NULL;
}

struct closing {
    struct store_fixture *fixture;
    int refused;
};

static void close_and_confirm(void *context, const struct store_result *result)
{
    struct closing *closing = context;
    struct store *store = closing->fixture->store;
    assert_int_equal(result->outcome, STORE_REPLIED);
    store_fixture_close_begin(closing->fixture);
    store_confirm(store, store_mark(store), 3, 1000, count_error, &closing->refused);
}

/* It is answered, and the store closes. */
static void a_question_to_replicas_on_the_way_out(void **state)
{
    struct world *world = *state;
    struct store_fixture fixture;
    struct closing closing = {&fixture, 0};
    store_fixture_open_up(&fixture, world->redis.url);
    store_expect_replicas(fixture.store, slice_of("marker"), 0);
    store_eval(fixture.store, fixture_script(COUNT), slice_of("a"), NULL, 0, close_and_confirm,
               &closing);
    store_fixture_close_end(&fixture);
    assert_int_equal(closing.refused, 1);
}

int main(void)
{
#define ON_REDIS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_REDIS(a_reply_reaches_its_caller),
        ON_REDIS(keys_and_arguments_may_hold_any_bytes),
        ON_REDIS(pipelined_calls_keep_their_order),
        ON_REDIS(large_arguments_pass),
        ON_REDIS(a_script_is_sent_once_for_a_connection),
        ON_REDIS(a_forgotten_script_is_loaded_again),
        ON_REDIS(a_refused_write_is_no_doubt),
        ON_REDIS(a_script_that_fails_halfway_leaves_a_doubt),
        ON_REDIS(a_busy_redis_refuses),
        ON_REDIS(a_question_to_replicas_on_the_way_out),
        cmocka_unit_test(loading_again_has_an_end),
        cmocka_unit_test(a_script_that_is_forgotten_some_times_is_run),
        cmocka_unit_test(a_script_that_may_not_be_loaded_says_why),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
