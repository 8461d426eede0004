/* Connections that break, hang or cannot be made, and how the store comes back. */
#include "redis/wire/session.h"
#include "tests/redis/world.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

static int set_up(void **state)
{
    return world_set_up(state, &(struct redis_options){.durable = true, .port = true}, NULL);
}

TEST_IN_WORLD(a_restart_of_redis_is_survived)
{
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
    redis_process_kill(&world->redis);
    store_fixture_await(&world->store, &world->store.downs, 1);
    assert_non_null(strstr(world->store.reason, "was lost"));

    struct outcome outcome = store_fixture_run(&world->store, COUNT, "a", "");
    assert_int_equal(outcome.outcome, STORE_UNSENT);

    redis_process_resume(&world->redis);
    store_fixture_await(&world->store, &world->store.ups, 2);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 2);
    assert_int_equal(store_figures(world->store.store).connects, 2);
}

/* Each loss is told once; then once more what the next tries meet, and not once for each try. */
TEST_IN_WORLD(a_loss_is_reported_once)
{
    redis_process_kill(&world->redis);
    store_fixture_await(&world->store, &world->store.downs, 2);
    assert_non_null(strstr(world->store.reason, "cannot connect"));
    store_fixture_idle(&world->store, 500); /* some more tries, of which nothing tells */
    redis_process_resume(&world->redis);
    store_fixture_await(&world->store, &world->store.ups, 2);
    assert_int_equal(world->store.downs, 2);
}

/* The same where none of a Cluster's nodes can be reached: each of them is tried again and again.
 */
TEST(a_cluster_that_is_away_is_reported_once)
{
    struct store_fixture store;
    store_fixture_open(&store, "redis+cluster://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3");
    store_fixture_await(&store, &store.downs, 1);
    store_fixture_idle(&store, 1000); /* some more tries, of which nothing tells */
    assert_int_equal(store.downs, 1);
    assert_non_null(strstr(store.reason, "cannot connect"));
    store_fixture_close(&store);
}

/* Each round begins with the first node of the URL again. */
TEST(first_node_of_a_cluster_comes_back)
{
    struct redis_process redis;
    struct store_fixture store;
    char url[80];
    redis_process_start(&redis, &(struct redis_options){.cluster = true});
    freeReplyObject(redis_process_command(&redis, "CLUSTER ADDSLOTSRANGE 0 16383"));
    redis_process_kill(&redis);
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:1", redis.port);
    store_fixture_open(&store, url);
    store_fixture_await(&store, &store.downs, 1);
    redis_process_resume(&redis);
    store_fixture_await(&store, &store.ups, 1);
    store_fixture_close(&store);
    redis_process_stop(&redis);
}

TEST_IN_WORLD(a_call_during_the_loss_is_in_doubt_or_done)
{
    enum { MANY = 200 };
    struct outcome outcomes[MANY];
    redis_process_freeze(&world->redis);
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script(COUNT), "a", "");
    store_fixture_turn(&world->store); /* they are on their way */
    redis_process_kill(&world->redis);
    store_fixture_await(&world->store, &world->store.ended, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].outcome, STORE_IN_DOUBT);
        assert_int_equal(outcomes[i].turn, i + 1);
        assert_true(outcomes[i].error[0] != '\0');
    }
    store_fixture_await(&world->store, &world->store.downs, 1);
}

TEST_IN_WORLD(a_command_that_never_left_is_not_in_doubt)
{
    enum { SIZE = 4 << 20 };
    char *large = malloc(SIZE + 1);
    memset(large, 'x', SIZE);
    large[SIZE] = '\0';
    struct outcome first, second, third;
    redis_process_freeze(&world->redis);
    store_fixture_call(&world->store, &first, fixture_script(COUNT), "a", "");
    store_fixture_call(&world->store, &second, fixture_script("return #ARGV[1]"), "a", large);
    store_fixture_call(&world->store, &third, fixture_script(COUNT), "a", "");
    store_fixture_await(&world->store, &world->store.ended, 3);
    assert_int_equal(first.outcome, STORE_IN_DOUBT);
    assert_int_equal(second.outcome, STORE_UNSENT); /* the socket took a part of it */
    assert_int_equal(third.outcome, STORE_UNSENT);
    redis_process_thaw(&world->redis);
    free(large);
}

TEST_IN_WORLD(a_frozen_redis_costs_its_deadline)
{
    enum { MANY = 20 };
    struct outcome outcomes[MANY];
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
    redis_process_freeze(&world->redis);
    int64_t begun = clock_ms();
    uv_update_time(&world->store.loop);
    for (int i = 0; i < MANY; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script(COUNT), "a", "");
    store_fixture_await(&world->store, &world->store.ended, 2);
    assert_true(clock_ms() - begun >= redis_patience_ms());
    store_fixture_await(&world->store, &world->store.ended, 1 + MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(outcomes[i].outcome, STORE_IN_DOUBT);
    assert_int_equal(world->store.downs, 1);
    assert_non_null(strstr(world->store.reason, "did not answer"));

    redis_process_thaw(&world->redis);
    store_fixture_await(&world->store, &world->store.ups, 2);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "b", "").integer, 1);
}

/* As when thousands of clients hang up at once: Redis is busy for longer than the deadline, but it
 * answers one after the other. */
TEST_IN_WORLD(a_long_queue_in_redis_loses_nothing)
{
    static const char SLOW[] = "for i = 1, 3000000 do end return redis.call('incr', KEYS[1])";
    enum { AT_LEAST_MS = REDIS_TIMEOUT_MS * 3 / 2, MANY = 500, PADDING = 8000 };
    struct outcome outcomes[MANY];
    char padding[PADDING + 1]; /* Redis answers when it has run what it had read in one go */
    memset(padding, 'x', PADDING);
    padding[PADDING] = '\0';
    int64_t start = clock_ms();
    store_fixture_run(&world->store, SLOW, "a", "");
    int64_t each = clock_ms() - start + 1;
    int many = (int)(AT_LEAST_MS / each) + 1;
    if (many > MANY)
        many = MANY;
    int64_t begun = clock_ms();
    for (int i = 0; i < many; i++)
        store_fixture_call(&world->store, &outcomes[i], fixture_script(SLOW), "a", padding);
    store_fixture_await(&world->store, &world->store.ended, 1 + many);
    int64_t last = begun;
    for (int i = 0; i < many && outcomes[i].outcome == STORE_REPLIED; i++)
        last = outcomes[i].begun_ms + outcomes[i].took_ms;
    const struct outcome *end = &outcomes[many - 1];
    if (end->outcome == STORE_REPLIED)
        assert_int_equal(world->store.downs, 0);
    else /* the machine has kept Redis from answering for all this time */
        assert_true(end->begun_ms + end->took_ms - last >= REDIS_TIMEOUT_MS / 2);
}

static bool has_counted_two(void *context)
{
    redisReply *reply = redis_process_command(context, "GET a");
    bool has = strcmp(reply->str, "2") == 0;
    freeReplyObject(reply);
    return has;
}

/* A reply that waits in the socket while this process is held up is no lost reply. */
TEST_IN_WORLD(a_pause_of_our_own_loses_nothing)
{
    struct outcome outcome;
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").integer, 1);
    store_fixture_call(&world->store, &outcome, fixture_script(COUNT), "a", "");
    store_fixture_turn(&world->store);
    assert_true(clock_wait_until(has_counted_two, &world->redis, CLOCK_HANG_MS));
    clock_sleep_ms(redis_patience_ms() + 100);
    store_fixture_await(&world->store, &world->store.ended, 2);
    assert_int_equal(outcome.outcome, STORE_REPLIED);

    /* Nor does a call come too late that is made after such a pause, in the same turn. */
    clock_sleep_ms(redis_patience_ms() + 100);
    assert_int_equal(store_fixture_run(&world->store, COUNT, "a", "").outcome, STORE_REPLIED);
    assert_int_equal(world->store.downs, 0);
}

/* connect(2) itself fails. */
TEST(an_address_without_a_route_is_named)
{
    struct store_fixture store;
    store_fixture_open(&store, "redis://224.0.0.1:6379");
    store_fixture_await(&store, &store.downs, 1);
    assert_non_null(strstr(store.reason, "cannot connect to Redis at redis://224.0.0.1:6379/0: "
                                         "Network is unreachable"));
    store_fixture_close(&store);
}

/* Bugs of others: a client that never notices that its Redis comes late. */
TEST_IN_WORLD(redis_may_come_after_the_store)
{
    struct store_fixture store;
    redis_process_kill(&world->redis);
    store_fixture_open(&store, world->redis.url);
    store_fixture_await(&store, &store.downs, 1);
    assert_non_null(strstr(store.reason, "cannot connect"));
    redis_process_resume(&world->redis);
    store_fixture_await(&store, &store.ups, 1);
    assert_int_equal(store.downs, 1);
    store_fixture_close(&store);
}

TEST_IN_WORLD(a_host_name_is_looked_up)
{
    struct store_fixture store;
    char url[64];
    snprintf(url, sizeof url, "redis://localhost:%d/3", world->redis.port);
    store_fixture_open_up(&store, url); /* ::1 may be tried first, and is refused */
    assert_int_equal(store_fixture_run(&store, COUNT, "in-3", "").integer, 1);
    store_fixture_close(&store);
    freeReplyObject(redis_process_command(&world->redis, "SELECT 3"));
    assert_int_equal(redis_process_integer(&world->redis, "EXISTS in-3"), 1);
}

TEST(an_unknown_host_is_named)
{
    struct store_fixture store;
    store_fixture_open(&store, "redis://:secret@no-such-host.invalid:6379");
    store_fixture_await(&store, &store.downs, 1);
    assert_non_null(strstr(store.reason, "no-such-host.invalid"));
    assert_null(strstr(store.reason, "secret"));
    store_fixture_close(&store);
}

/* With a server that hangs up at once: tries are counted. */

static const struct fake_answers HANGING_UP = {.hang_up = true};
static const struct fake_answers SILENT = {.welcome = NULL};
static const struct fake_answers WORKING = {
    .info = "redis_version:7.0.0\r\nrole:master\r\n",
    .load = "+OK\r\n",
    .eval = "+%s\r\n",
};

struct goal {
    struct fake_redis *fake;
    int connections;
};

static bool has_been_tried(void *context)
{
    const struct goal *goal = context;
    return atomic_load(&goal->fake->connections) >= goal->connections;
}

TEST(tries_are_spaced)
{
    enum { TRIES = 6, PAUSES_MS = (50 + 100 + 200 + 400 + 800) / 2 }; /* jittered down to a half */
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &HANGING_UP);
    int64_t begun = clock_ms();
    store_fixture_open(&store, fake.url);
    store_fixture_await_that(&store, has_been_tried, &(struct goal){&fake, TRIES});
    assert_true(clock_ms() - begun >= PAUSES_MS - TRIES); /* each is in whole milliseconds */
    assert_int_equal(store.ups, 0);
    assert_int_equal(store.downs, 1);
    fake_redis_change(&fake, &WORKING);
    store_fixture_await(&store, &store.ups, 1);
    world_close_fake(&fake, &store);
}

TEST(a_server_that_says_nothing_is_given_up)
{
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &SILENT);
    int64_t begun = clock_ms();
    store_fixture_open(&store, fake.url);
    store_fixture_await(&store, &store.downs, 1);
    assert_true(clock_ms() - begun >= redis_patience_ms());
    assert_non_null(strstr(store.reason, "no answer"));
    fake_redis_change(&fake, &WORKING);
    store_fixture_await(&store, &store.ups, 1);
    world_close_fake(&fake, &store);
}

struct early {
    struct outcome too_early;
    struct outcome from_up;
    struct outcome later;
};

static void call_from_up(struct store_fixture *store)
{
    struct early *early = store->data;
    store_fixture_call(store, &early->from_up, fixture_script(COUNT), "from up", "");
}

TEST(calls_of_on_up_come_first)
{
    struct fake_redis fake;
    struct store_fixture store;
    struct early early;
    fake_redis_start(&fake, &WORKING);
    store_fixture_open(&store, fake.url);
    store.on_up = call_from_up;
    store.data = &early;
    store_fixture_call(&store, &early.too_early, fixture_script(COUNT), "too early", "");
    store_fixture_await(&store, &store.ups, 1);
    store_fixture_call(&store, &early.later, fixture_script(COUNT), "later", "");
    store_fixture_await(&store, &store.ended, 3);
    assert_int_equal(early.too_early.outcome, STORE_UNSENT);
    assert_string_equal(early.from_up.text, "from up");
    assert_true(early.from_up.turn < early.later.turn);
    world_close_fake(&fake, &store);
}

/* Closing */

TEST_IN_WORLD(closing_ends_open_calls)
{
    struct store_fixture store;
    store_fixture_open_up(&store, world->redis.url);
    redis_process_freeze(&world->redis);
    struct outcome sent, not_sent;
    store_fixture_call(&store, &sent, fixture_script(COUNT), "a", "");
    store_fixture_turn(&store);
    store_fixture_call(&store, &not_sent, fixture_script(COUNT), "a", "");
    store_fixture_close(&store);
    assert_true(sent.ended);
    assert_int_equal(sent.outcome, STORE_IN_DOUBT);
    assert_true(not_sent.ended);
    assert_int_equal(not_sent.outcome, STORE_UNSENT);
    redis_process_thaw(&world->redis);
}

TEST(closing_before_anything_happened)
{
    struct store_fixture store;
    struct outcome outcome;
    store_fixture_open(&store, "redis://localhost:1");
    store_fixture_call(&store, &outcome, fixture_script(COUNT), "a", "");
    store_fixture_close(&store);
    assert_int_equal(outcome.outcome, STORE_UNSENT);
    assert_int_equal(store.downs, 0);

    store_fixture_open(&store, "redis://localhost:1");
    uv_run(&store.loop, UV_RUN_NOWAIT); /* the name is being looked up */
    store_fixture_close(&store);
    store_close(NULL, NULL, NULL);
}

TEST(closing_while_connecting)
{
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &SILENT);
    store_fixture_open(&store, fake.url);
    store_fixture_await_that(&store, has_been_tried, &(struct goal){&fake, 1});
    world_close_fake(&fake, &store);
}

static void close_at_once(uv_async_t *async)
{
    store_fixture_close_begin(async->data);
    uv_close((uv_handle_t *)async, NULL);
}

/* The answer to INFO is met in the same turn, after the store was told to close. */
TEST_IN_WORLD(closing_right_before_the_greeting_is_answered)
{
    struct store_fixture store;
    uv_async_t async;
    store_fixture_open(&store, world->redis.url);
    uv_async_init(&store.loop, &async, close_at_once);
    async.data = &store;
    redis_process_freeze(&world->redis);
    store_fixture_idle(&store, 50); /* connected; Redis has the greeting to answer */
    uv_async_send(&async);
    redis_process_thaw(&world->redis);
    for (int i = 0; i < 5; i++) /* and has answered it, in some turns of its own */
        freeReplyObject(redis_process_command(&world->redis, "PING"));
    store_fixture_close_end(&store);
    assert_int_equal(store.ups, 0);
}

struct last_words {
    struct store_fixture *store;
    int ended;
    int unsent;
    int closed;
};

static void on_closed(void *context)
{
    struct last_words *words = context;
    words->closed++;
}

static void on_last(void *context, const struct store_result *result);

static void call_last(struct last_words *words)
{
    const struct script_call call = {fixture_script(COUNT), slice_of("a"), .done = on_last,
                                     .context = words};
    store_eval(words->store->store, &call);
}

static void on_last(void *context, const struct store_result *result)
{
    struct last_words *words = context;
    words->ended++;
    if (result->outcome == STORE_UNSENT)
        words->unsent++;
    if (words->ended == 1) {
        store_close(words->store->store, on_closed, words);
        call_last(words);
    }
}

/* In the middle of the replies of one read: Redis has all calls before it answers the first. */
TEST_IN_WORLD(closing_from_a_callback)
{
    struct store_fixture store;
    store_fixture_open_up(&store, world->redis.url);
    struct last_words words = {.store = &store};
    redis_process_freeze(&world->redis);
    for (int i = 0; i < 10; i++)
        call_last(&words);
    store_fixture_turn(&store); /* the first is sent at once, the others at the end of the turn */
    redis_process_thaw(&world->redis);
    store_fixture_await(&store, &words.closed, 1);
    assert_int_equal(words.ended, 11);
    assert_int_equal(words.unsent, 1);
    uv_close((uv_handle_t *)&store.guard, NULL);
    uv_run(&store.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&store.loop), 0);
}

static void on_last_down(void *context, unsigned shard, const char *reason)
{
    struct last_words *words = context;
    (void)shard, (void)reason;
    store_close(words->store->store, on_closed, words);
}

TEST(closing_from_down)
{
    struct store_fixture store = {.late = false};
    struct last_words words = {.store = &store};
    struct redis_url url;
    struct store_events events = {.observer = {.context = &words, .down = on_last_down}};
    uv_loop_init(&store.loop);
    uv_timer_init(&store.loop, &store.guard);
    assert_int_equal(redis_url_parse("unix:///nowhere/redis.sock", &url, NULL), 0);
    assert_int_equal(store_open(&store.store, &store.loop, &url, &events), 0);
    redis_url_free(&url);
    store_fixture_await(&store, &words.closed, 1);
    uv_close((uv_handle_t *)&store.guard, NULL);
    uv_run(&store.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&store.loop), 0);
}
