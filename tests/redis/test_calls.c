/* Calls over a healthy connection: replies, their order, forgotten functions, errors. */
#include "tests/redis/world.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";
static const char REPEAT[] = "return ARGV[1]";
static const char SET[] = "return redis.call('SET', KEYS[1], ARGV[1])";

static int set_up(void **state)
{
    return world_set_up(state, NULL, NULL);
}

TEST_IN_WORLD(a_reply_reaches_its_caller)
{
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

TEST_IN_WORLD(keys_and_arguments_may_hold_any_bytes)
{
    struct shape shape = {0};
    struct slice arguments[] = {{"a\0b\r\n", 5}, {NULL, 0}};
    const struct script_call call = {
        fixture_script("return {ARGV[1], ARGV[2], KEYS[1], {1, 9007199254740991}}"),
        {"k\0y", 3},
        arguments,
        2,
        .done = check_shape,
        .context = &shape};
    store_eval(world->store.store, &call);
    store_fixture_await(&world->store, &shape.seen, 1);
}

TEST_IN_WORLD(pipelined_calls_keep_their_order)
{
    enum { MANY = 2000 };
    static const char *const BODIES[] = {COUNT, "return redis.call('INCR', KEYS[1]) + 0"};
    const struct script *scripts = fixture_scripts(BODIES, 2);
    struct outcome *outcomes = calloc(MANY, sizeof *outcomes);
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], &scripts[i % 3 == 0], "n", "");
    store_fixture_await(&world->store, &world->store.ended, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 1);
        assert_int_equal(outcomes[i].turn, i + 1);
    }
    assert_int_equal(redis_process_calls(&world->redis, "fcall"),
                     2 * MANY); /* twice the first time */
    assert_int_equal(redis_process_calls(&world->redis, "function|load"), 1);
    assert_int_equal(store_figures(world->store.store).calls, MANY);
    assert_int_equal(store_figures(world->store.store).connects, 1);
    free(outcomes);
}

TEST_IN_WORLD(large_arguments_pass)
{
    enum { SIZE = 3 << 20, MANY = 4 };
    char *large = malloc(SIZE + 1);
    memset(large, 'x', SIZE);
    large[SIZE] = '\0';
    struct outcome outcomes[MANY], first;
    /* So that Redis has the library: nothing large goes twice, which might take beyond a deadline.
     */
    store_fixture_call(&world->store, &first, fixture_script("return #ARGV[1]"), "a", "");
    store_fixture_await(&world->store, &world->store.ended, 1);
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script("return #ARGV[1]"), "a",
                           large);
    store_fixture_await(&world->store, &world->store.ended, 1 + MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(outcomes[i].integer, SIZE);
    free(large);
}

TEST_IN_WORLD(a_library_is_sent_only_where_it_is_missing)
{
    struct store_fixture second;
    for (int i = 0; i < 10; i++)
        store_fixture_run(&world->store, COUNT, "a", "");
    store_fixture_open_up(&second, world->redis.url);
    assert_int_equal(store_fixture_run(&second, COUNT, "a", "").integer, 11);
    store_fixture_close(&second);
    assert_int_equal(redis_process_calls(&world->redis, "function|load"), 1);
    assert_int_equal(redis_process_calls(&world->redis, "fcall"), 12);
    assert_int_equal(redis_process_calls(&world->redis, "eval"), 0);
}

TEST_IN_WORLD(a_forgotten_library_is_loaded_again)
{
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
    freeReplyObject(redis_process_command(&world->redis, "FUNCTION FLUSH"));

    enum { MANY = 50 };
    struct outcome outcomes[MANY];
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script(COUNT), "a", "");
    store_fixture_await(&world->store, &world->store.ended, MANY + 1);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 2); /* each once, and in order */
    }
    assert_int_equal(redis_process_calls(&world->redis, "function|load"), 2);
    assert_int_equal(world->store.downs, 0);
}

struct follower {
    struct world *world;
    const struct script *script;
    struct outcome outcomes[30];
    int count;
};

/* Calls while the library is being loaded. */
static void follower_on_timer(uv_timer_t *timer)
{
    struct follower *follower = timer->data;
    for (int i = 0; i < 10; i++)
        store_fixture_call(&follower->world->store, &follower->outcomes[follower->count++],
                           follower->script, "a", "");
    if (follower->count == 30)
        uv_close((uv_handle_t *)timer, NULL);
}

/* In each turn of the loop some: those of later turns find others that miss their function. */
TEST_IN_WORLD(new_calls_do_not_overtake_those_that_go_again)
{
    static const char *const BODIES[] = {
        "return redis.call('INCR', KEYS[1])",
        "return redis.call('INCR', KEYS[1])",
    };
    struct follower follower = {.world = world, .script = &fixture_scripts(BODIES, 2)[1]};
    struct outcome first[10];
    uv_timer_t timer;
    uv_timer_init(&world->store.loop, &timer);
    timer.data = &follower;
    for (int i = 0; i < 10; i++)
        store_fixture_call(&world->store, &first[i], follower.script - 1, "a", "");
    uv_timer_start(&timer, follower_on_timer, 0, 0);
    uv_timer_set_repeat(&timer, 1);
    uv_timer_again(&timer);
    store_fixture_await(&world->store, &world->store.ended, 40);
    for (int i = 0; i < 10; i++)
        assert_int_equal(first[i].integer, i + 1);
    for (int i = 0; i < 30; i++)
        assert_int_equal(follower.outcomes[i].integer, i + 11);
    assert_int_equal(redis_process_calls(&world->redis, "function|load"), 1);
}

/* Two connections find the library missing: one is told that it exists already. */
TEST_IN_WORLD(two_that_load_at_once)
{
    struct store_fixture second;
    struct outcome outcome, other;
    store_fixture_open_up(&second, world->redis.url);
    store_fixture_call(&world->store, &outcome, fixture_script(COUNT), "a", "");
    store_fixture_call(&second, &other, fixture_script(COUNT), "a", "");
    for (int i = 0; i < 5; i++) {
        store_fixture_idle(&world->store, 2);
        store_fixture_idle(&second, 2);
    }
    store_fixture_await(&world->store, &world->store.ended, 1);
    store_fixture_await(&second, &second.ended, 1);
    assert_int_equal(outcome.integer + other.integer, 3);
    store_fixture_close(&second);
}

/* The other function is called with the same keys and arguments. */
TEST_IN_WORLD(a_full_redis_is_asked_by_another_function)
{
    struct outcome outcome;
    const struct script *script =
        fixture_script_when_full("return redis.call('SET', KEYS[1], ARGV[1])",
                                 "if ARGV[1] == 'new' then return {err = 'OOM no room'} end "
                                 "return redis.call('GET', KEYS[1]) .. ARGV[1]");
    store_fixture_call(&world->store, &outcome, script, "a", "one");
    store_fixture_await(&world->store, &world->store.ended, 1);
    assert_string_equal(outcome.text, "OK");
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 1"));
    store_fixture_call(&world->store, &outcome, script, "a", "two");
    store_fixture_await(&world->store, &world->store.ended, 2);
    assert_string_equal(outcome.text, "onetwo");
    store_fixture_call(&world->store, &outcome, script, "a", "new");
    store_fixture_await(&world->store, &world->store.ended, 3);
    assert_int_equal(outcome.outcome, STORE_REFUSED);
    assert_non_null(strstr(outcome.error, "Redis is full"));
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 0"));
    store_fixture_call(&world->store, &outcome, script, "a", "new");
    store_fixture_await(&world->store, &world->store.ended, 4);
    assert_string_equal(outcome.text, "OK");
}

/* One call after the other. */
struct attempt {
    struct store_fixture *store;
    struct outcome outcome;
    bool is_made;
};

static bool is_replied(void *context)
{
    struct attempt *attempt = context;
    if (attempt->is_made && !attempt->outcome.ended)
        return false;
    if (attempt->is_made && attempt->outcome.outcome == STORE_REPLIED)
        return true;
    store_fixture_call(attempt->store, &attempt->outcome, fixture_script(COUNT), "a", "");
    attempt->is_made = true;
    return false;
}

/* Redis refuses the library. The calls are told why, and the library is not sent for each. */
TEST_IN_WORLD(a_full_redis_without_the_library)
{
    enum { MANY = 50 };
    struct outcome outcomes[MANY];
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 1"));
    for (int i = 0; i < MANY; i++) {
        store_fixture_call(&world->store, &outcomes[i], fixture_script(COUNT), "a", "");
        store_fixture_await(&world->store, &world->store.ended, i % 10 ? i : i + 1);
    }
    store_fixture_await(&world->store, &world->store.ended, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_REFUSED);
        assert_non_null(strstr(outcomes[i].error, "Redis is full"));
    }
    assert_true(redis_process_calls(&world->redis, "function|load") < MANY / 2);
    assert_non_null(strstr(world->store.warning, "Redis is full"));
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 0"));
    store_fixture_await_that(&world->store, is_replied, &(struct attempt){.store = &world->store});
}

TEST_IN_WORLD(a_refused_write_is_no_doubt)
{
    store_fixture_run(&world->store, SET, "b", "");
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 1"));
    struct outcome full = store_fixture_run(&world->store, SET, "a", "x");
    assert_int_equal(full.outcome, STORE_REFUSED);
    assert_non_null(strstr(full.error, "OOM"));
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET maxmemory 0"));
    assert_int_equal(store_fixture_run(&world->store, SET, "a", "x").outcome, STORE_REPLIED);
    assert_int_equal(world->store.downs, 0);
}

TEST_IN_WORLD(a_script_that_fails_halfway_leaves_a_doubt)
{
    struct outcome failed = store_fixture_run(
        &world->store, "redis.call('SET', KEYS[1], 'x'); return redis.call('LPUSH', KEYS[1], 'y')",
        "a", "");
    assert_int_equal(failed.outcome, STORE_IN_DOUBT);
    assert_non_null(strstr(failed.error, "WRONGTYPE"));
    assert_int_equal(redis_process_integer(&world->redis, "EXISTS a"), 1);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "b", "").integer, 1);
}

static bool says_busy(redisContext *link)
{
    redisReply *reply = redisCommand(link, "PING");
    assert_non_null(reply);
    bool is_busy = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY", 4) == 0;
    freeReplyObject(reply);
    return is_busy;
}

TEST_IN_WORLD(a_busy_redis_refuses)
{
    store_fixture_run(&world->store, COUNT, "b", "");
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET lua-time-limit 50"));
    redisAppendCommand(world->redis.link, "EVAL %s 0", "while true do end");
    int written = 0;
    while (!written)
        redisBufferWrite(world->redis.link, &written);
    redisContext *killer = redisConnectUnix(world->redis.socket);
    while (!says_busy(killer))
        clock_sleep_ms(10);
    struct outcome busy = store_fixture_run(&world->store, COUNT, "a", "");
    assert_int_equal(busy.outcome, STORE_REFUSED);
    assert_non_null(strstr(busy.error, "BUSY"));
    freeReplyObject(redisCommand(killer, "SCRIPT KILL"));
    redisFree(killer);
    void *reply = NULL;
    assert_int_equal(redisGetReply(world->redis.link, &reply), REDIS_OK);
    freeReplyObject(reply);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
}

/* Against a server that never remembers a function. */
TEST(loading_again_has_an_end)
{
    static const struct fake_answers FORGETFUL = {
        .info = "redis_version:7.0.0\r\n",
        .load = "$6\r\ntest_0\r\n",
        .eval = "-ERR Function not found\r\n",
    };
    struct fake_redis fake;
    struct store_fixture store;
    world_open_fake(&fake, &store, &FORGETFUL);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_REFUSED);
    assert_non_null(strstr(outcome.error, "Function not found"));
    assert_in_range(atomic_load(&fake.commands), 3, 30);
    world_close_fake(&fake, &store);
}

/* As where FUNCTION FLUSH comes again and again, each time between the library and the call. */
TEST(a_function_that_is_forgotten_some_times_is_run)
{
    static const struct fake_answers ABSENT_MINDED = {
        .info = "redis_version:7.0.0\r\n",
        .load = "$6\r\ntest_0\r\n",
        .eval = ":7\r\n",
        .forgets = 6,
    };
    struct fake_redis fake;
    struct store_fixture store;
    world_open_fake(&fake, &store, &ABSENT_MINDED);
    struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_REPLIED);
    assert_int_equal(outcome.integer, 7);
    world_close_fake(&fake, &store);
}

/* A user of Redis who may not call functions, or not load them. It is told to who asks, and logged.
 */
TEST(a_missing_right_is_named)
{
    static const struct {
        struct fake_answers answers;
        const char *right;
        int loads;
    } CASES[] = {
        {{.info = "redis_version:7.0.0\r\n",
          .load = "-NOPERM this user has no permissions to run the 'function|load' command\r\n",
          .eval = "-ERR Function not found\r\n"},
         "'function|load'",
         1},
        {{.info = "redis_version:7.2.0\r\n",
          .eval = "-NOPERM User baton has no permissions to run the 'fcall' command\r\n"},
         "'fcall'",
         0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct fake_redis fake;
        struct store_fixture store;
        world_open_fake(&fake, &store, &CASES[i].answers);
        for (int call = 0; call < 5; call++) {
            struct outcome outcome = store_fixture_run(&store, COUNT, "a", "");
            assert_int_equal(outcome.outcome, STORE_REFUSED);
            assert_non_null(strstr(outcome.error, CASES[i].right));
            assert_non_null(strstr(outcome.error, "docs/redis.md"));
        }
        assert_non_null(strstr(store.warning, CASES[i].right));
        assert_int_equal(store.warnings, 1);
        assert_int_equal(atomic_load(&fake.loads), CASES[i].loads);
        world_close_fake(&fake, &store);
    }
}

static bool is_to_load(void *fake)
{
    return atomic_load(&((struct fake_redis *)fake)->loads) > 0;
}

/* On a server that never says whether it has the library: the second call is held back. */
static void call_while_it_loads(struct fake_redis *fake, struct store_fixture *store,
                                struct outcome *missed, struct outcome *held)
{
    static const struct fake_answers SILENT = {.info = "redis_version:7.0.0\r\n", .forgets = 1};
    world_open_fake(fake, store, &SILENT);
    store_fixture_call(store, missed, fixture_script(COUNT), "a", "");
    store_fixture_await_that(store, is_to_load, fake);
    store_fixture_call(store, held, fixture_script(COUNT), "a", "");
}

/* Redis has not got the calls that are held back while the library is on its way. */
TEST(a_connection_that_is_lost_while_it_loads)
{
    static const struct fake_answers MENDED = {.info = "redis_version:7.0.0\r\n", .eval = ":7\r\n"};
    struct fake_redis fake;
    struct store_fixture store;
    struct outcome missed, held;
    call_while_it_loads(&fake, &store, &missed, &held);
    store_fixture_turn(&store);
    fake_redis_change(&fake, &MENDED);
    store_fixture_await(&store, &store.ended, 2);
    assert_int_equal(missed.outcome,
                     STORE_IN_DOUBT); /* it is behind the library, which may be slow */
    assert_int_equal(held.outcome, STORE_UNSENT);
    store_fixture_await(&store, &store.ups, 2);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 7);
    world_close_fake(&fake, &store);
}

/* The same where the store is closed meanwhile. */
TEST(a_store_that_is_closed_while_it_loads)
{
    struct fake_redis fake;
    struct store_fixture store;
    struct outcome missed, held;
    call_while_it_loads(&fake, &store, &missed, &held);
    store_fixture_close(&store);
    assert_int_equal(missed.outcome, STORE_IN_DOUBT);
    assert_int_equal(held.outcome, STORE_UNSENT);
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
TEST_IN_WORLD(a_question_to_replicas_on_the_way_out)
{
    struct store_fixture fixture;
    struct closing closing = {&fixture, 0};
    store_fixture_open_up(&fixture, world->redis.url);
    store_expect_replicas(fixture.store, slice_of("marker"), 0);
    const struct script_call call = {fixture_script(COUNT), slice_of("a"),
                                     .done = close_and_confirm, .context = &closing};
    store_eval(fixture.store, &call);
    store_fixture_close_end(&fixture);
    assert_int_equal(closing.refused, 1);
}
