/* The inbox: what is published reaches it, and it comes back from every way to be lost. */
#include "redis/node/inbox.h"
#include "redis/wire/session.h"
#include "tests/redis/world.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ANSWER "did not answer within "
#define CHANNEL   "baton:inbox:0123456789abcdef"

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";
static const char PUBLISH[] = "return redis.call('PUBLISH', '" CHANNEL "', ARGV[1])";

static int set_up(void **state)
{
    return world_set_up(state, NULL, CHANNEL);
}

/* Returns how many subscribers Redis gave it to. */
static int64_t publish(struct redis_process *redis, const char *text)
{
    return redis_process_integer(redis, "PUBLISH " CHANNEL " %s", text);
}

static void expect_received(struct world *world, const char *text)
{
    int before = world->store.messages;
    assert_int_equal(publish(&world->redis, text), 1);
    store_fixture_await(&world->store, &world->store.messages, before + 1);
    assert_string_equal(world->store.message, text);
}

/* Messages */

TEST_IN_WORLD(message_is_received)
{
    expect_received(world, "g attempt key");
    assert_int_equal(
        redis_process_integer(&world->redis, "PUBLISH " CHANNEL " %b", "a\0b", (size_t)3), 1);
    store_fixture_await(&world->store, &world->store.messages, 2);
    assert_int_equal(world->store.message_length, 3);
    assert_int_equal(redis_process_integer(&world->redis, "PUBLISH " CHANNEL " %b", "", (size_t)0),
                     1);
    store_fixture_await(&world->store, &world->store.messages, 3);
    assert_int_equal(world->store.message_length, 0);
    assert_int_equal(redis_process_integer(&world->redis, "PUBLISH baton:inbox:other x"), 0);
    assert_int_equal(world->store.warnings, 0);
}

struct sequence {
    int next;
    bool in_order;
};

static void check_sequence(struct store_fixture *store)
{
    struct sequence *sequence = store->data;
    sequence->in_order = sequence->in_order && atoi(store->message) == sequence->next;
    sequence->next++;
}

TEST_IN_WORLD(messages_keep_their_order)
{
    enum { MANY = 1000 };
    struct sequence sequence = {0, true};
    struct outcome outcomes[MANY];
    char text[16];
    world->store.data = &sequence;
    world->store.on_message = check_sequence;
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "%d", i);
        store_fixture_call(&world->store, &outcomes[i], fixture_script(PUBLISH), "a", text);
    }
    store_fixture_await(&world->store, &world->store.messages, MANY);
    assert_true(sequence.in_order);
    store_fixture_await(&world->store, &world->store.ended, MANY);
}

static void publish_at_once(struct store_fixture *store)
{
    struct redis_process *redis = store->data;
    if (publish(redis, "from listening") == 1 &&
        redis_process_integer(redis, "PUBLISH __redis__:invalidate x") == 1)
        store->data = NULL;
}

TEST_IN_WORLD(listening_is_reported_after_subscription)
{
    struct store_fixture *store = &world->store;
    store_fixture_close(store);
    store_fixture_open(store, world->redis.url);
    store->data = &world->redis;
    store->on_listening = publish_at_once;
    store_fixture_listen(store, CHANNEL);
    store_fixture_await(store, &store->messages, 1);
    assert_null(store->data);
    assert_int_equal(store->listenings, 1);
}

struct goal {
    struct redis_process *redis;
    const char *command;
    int64_t calls;
};

static bool has_called(void *context)
{
    const struct goal *goal = context;
    return redis_process_calls(goal->redis, goal->command) >= goal->calls;
}

TEST_IN_WORLD(idle_inbox_pings_every_second)
{
    int64_t begun = clock_ms(), before = redis_process_calls(&world->redis, "ping");
    store_fixture_await_that(&world->store, has_called,
                             &(struct goal){&world->redis, "ping", before + 2});
    assert_true(clock_ms() - begun >= INBOX_PING_MS);
    assert_int_equal(world->store.listenings, 1);
    assert_int_equal(world->store.warnings, 0);
    assert_int_equal(redis_process_calls(&world->redis, "subscribe"), 1);
}

/* Losses */

TEST_IN_WORLD(killed_subscriber_comes_back)
{
    assert_int_equal(redis_process_integer(&world->redis, "CLIENT KILL TYPE pubsub"), 1);
    store_fixture_await(&world->store, &world->store.listenings, 2);
    assert_int_equal(world->store.warnings, 1);
    assert_non_null(strstr(world->store.warning, "waiters get their locks late"));
    assert_non_null(strstr(world->store.warning, "was lost"));
    expect_received(world, "again");
    assert_int_equal(world->store.ups, 1);
    assert_int_equal(world->store.downs, 0);

    assert_int_equal(redis_process_integer(&world->redis, "CLIENT KILL TYPE pubsub"), 1);
    store_fixture_await(&world->store, &world->store.listenings, 3);
    assert_int_equal(world->store.warnings, 2);
}

TEST_IN_WORLD(frozen_redis_is_noticed_without_a_call)
{
    redis_process_freeze(&world->redis);
    store_fixture_await(&world->store, &world->store.warnings, 1);
    assert_non_null(strstr(world->store.warning, NO_ANSWER));
    store_fixture_idle(&world->store,
                       redis_patience_ms() * 3 / 2); /* a try meets it frozen still */
    redis_process_thaw(&world->redis);
    store_fixture_await(&world->store, &world->store.listenings, 2);
    assert_int_equal(world->store.warnings, 1);
    assert_int_equal(world->store.ups, 1);
    expect_received(world, "again");
}

/* Beyond the deadline, until Redis has answered what it was sent before. */
static void hold_up_for(struct world *world, int ms)
{
    clock_sleep_ms(ms);
    for (int i = 0; i < 3; i++)
        redis_process_integer(&world->redis, "EXISTS a");
}

static void hold_up(uv_timer_t *timer)
{
    hold_up_for(timer->data, redis_patience_ms() + 50);
}

static int64_t pings; /* before */

/* The loop is turned by this, and reads nothing between the PING and what comes next. */
static bool has_sent_a_ping(void *context)
{
    struct world *world = context;
    store_fixture_turn(&world->store);
    return redis_process_calls(&world->redis, "ping") > pings;
}

/* What waits in the socket while this process is held up is not late, nor is the answer to a PING
 * that was due in the turn that took so long, be it sent before that or after. */
TEST_IN_WORLD(pause_of_the_process_loses_nothing)
{
    uv_timer_t timer;
    uv_timer_init(&world->store.loop, &timer);
    timer.data = world;
    pings = redis_process_calls(&world->redis, "ping");
    assert_true(clock_wait_until(has_sent_a_ping, world, CLOCK_HANG_MS));
    hold_up_for(world, redis_patience_ms() + 50);
    uv_timer_start(&timer, hold_up, 0, 0); /* before the inbox's, which is due later */
    store_fixture_idle(&world->store, 20);
    assert_int_equal(world->store.warnings, 0);

    clock_sleep_ms(INBOX_PING_MS + 10);
    uv_update_time(&world->store.loop);
    uv_timer_start(&timer, hold_up, 0, 0); /* after the inbox's */
    store_fixture_turn(&world->store);
    uv_close((uv_handle_t *)&timer, NULL);
    store_fixture_idle(&world->store, 20);
    assert_int_equal(world->store.listenings, 1);
    assert_int_equal(world->store.warnings, 0);
}

TEST_IN_WORLD(subscriber_that_falls_behind_comes_back)
{
    enum { LARGE = 8 << 20 };
    char *text = malloc(LARGE);
    memset(text, 'x', LARGE);
    freeReplyObject(redis_process_command(&world->redis, "CONFIG SET client-output-buffer-limit %s",
                                          "pubsub 65536 65536 1"));
    redis_process_integer(&world->redis, "PUBLISH " CHANNEL " %b", text, (size_t)LARGE);
    free(text);
    store_fixture_await(&world->store, &world->store.listenings, 2);
    assert_int_equal(world->store.messages, 0);
    assert_int_equal(world->store.downs, 0);
    expect_received(world, "again");
}

/* Permissions */

/* How many times Redis has refused a command. */
static size_t refusals(struct redis_process *redis)
{
    size_t count = 0;
    redisReply *reply = redis_process_command(redis, "ACL LOG");
    for (size_t i = 0; i < reply->elements; i++) /* alike ones are counted in the first pair */
        count += (size_t)reply->element[i]->element[1]->integer;
    freeReplyObject(reply);
    return count;
}

static bool has_refused_twice(void *redis)
{
    return refusals(redis) >= 2;
}

static bool has_refused(void *redis)
{
    return refusals(redis) > 0;
}

TEST_IN_WORLD(user_without_subscribe_is_named_in_warning)
{
    struct store_fixture store;
    char url[200];
    freeReplyObject(redis_process_command(
        &world->redis, "ACL SETUSER baton on >pw ~* resetchannels +info +client +fcall "
                       "+function|load +incr +subscribe +ping"));
    snprintf(url, sizeof url, "unix://baton:pw@%s", world->redis.socket);
    store_fixture_open_up(&store, url);
    store_fixture_listen(&store, CHANNEL);
    store_fixture_await(&store, &store.warnings, 1);
    assert_non_null(strstr(store.warning, "+subscribe +ping &baton:inbox:* &__redis__:invalidate"));
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 1);
    freeReplyObject(redis_process_command(&world->redis, "ACL LOG RESET"));
    store_fixture_await_that(&store, has_refused_twice, &world->redis); /* its tries */
    store_fixture_turn(&store);
    assert_int_equal(store.warnings, 1);
    assert_int_equal(store.listenings, 0);
    assert_int_equal(store.downs, 0);

    freeReplyObject(redis_process_command(
        &world->redis, "ACL SETUSER baton &baton:inbox:* &__redis__:invalidate"));
    store_fixture_await(&store, &store.listenings, 1);
    store_fixture_close(&store);
}

TEST_IN_WORLD(user_without_ping_listens)
{
    struct store_fixture store;
    char url[200];
    freeReplyObject(redis_process_command(
        &world->redis, "ACL SETUSER baton on >pw ~* &* +info +client +subscribe"));
    snprintf(url, sizeof url, "unix://baton:pw@%s", world->redis.socket);
    store_fixture_open_listening(&store, url, CHANNEL);
    store_fixture_await_that(&store, has_refused, &world->redis);
    publish(&world->redis, "after the refusal");
    store_fixture_await(&store, &store.messages, 1);
    assert_int_equal(store.listenings, 1);
    assert_int_equal(store.warnings, 0);
    store_fixture_close(&store);
}

/* What no real Redis says */

#define SUBSCRIBED                                                                                 \
    "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
#define PONG   "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
#define USABLE .info = "redis_version:7.0.0\r\n", .load = "+OK\r\n", .eval = ":7\r\n", .ping = PONG

/* Whatever it hears, the inbox gives the connection up alone, and a mended server is heard. */
static void expect_given_up(const struct fake_answers *answers, const char *why)
{
    static const struct fake_answers MENDED = {USABLE, .subscribe = SUBSCRIBED};
    struct fake_redis fake;
    struct store_fixture store;
    world_open_fake(&fake, &store, answers);
    store_fixture_listen(&store, CHANNEL);
    store_fixture_await(&store, &store.warnings, 1);
    if (!strstr(store.warning, why))
        fail_msg("`%s` does not say `%s`", store.warning, why);
    assert_int_equal(store.listenings,
                     strstr(answers->subscribe ? answers->subscribe : "", SUBSCRIBED) ? 1 : 0);
    int listenings = store.listenings;
    fake_redis_change(&fake, &MENDED);
    store_fixture_await(&store, &store.listenings, listenings + 1);
    assert_int_equal(store.downs, 0);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 7);
    world_close_fake(&fake, &store);
}

TEST(garbage_and_silence_end_the_inbox_alone)
{
    static const struct {
        struct fake_answers answers;
        const char *why;
    } CASES[] = {
        {{USABLE, .subscribe = "garbage\r\n"}, "protocol"},
        {{USABLE, .subscribe = "*1000000000000\r\n"}, "protocol"},
        {{USABLE, .subscribe = SUBSCRIBED "*3\r\n$7\r\nmessage\r\n?\r\n"}, "protocol"},
        {{USABLE, .subscribe = NULL}, NO_ANSWER},
        /* Announced and never complete: it costs no more memory than came within the deadline. */
        {{USABLE, .subscribe = SUBSCRIBED "*3\r\n$7\r\nmessage\r\n$28\r\n" CHANNEL
                                          "\r\n$500000000\r\nand so on"},
         NO_ANSWER},
        {{USABLE, .subscribe = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"},
         "an unexpected answer"},
        {{USABLE, .subscribe = "+OK\r\n"}, "an unexpected answer"},
        {{USABLE, .subscribe = "*0\r\n"}, "an unexpected answer"},
        {{USABLE, .subscribe = "*-1\r\n"}, "an unexpected answer"},
        {{USABLE, .subscribe = "*1\r\n:1\r\n"}, "an unexpected answer"},
        {{USABLE, .subscribe = SUBSCRIBED "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"},
         "an unexpected answer"},
        {{USABLE, .subscribe = "-ERR no\r\n"}, "ERR no"},
        {{USABLE, .subscribe = SUBSCRIBED "-NOAUTH Authentication required.\r\n"}, "NOAUTH"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        expect_given_up(&CASES[i].answers, CASES[i].why);
}

TEST(messages_of_another_shape_are_harmless)
{
    static const struct fake_answers ODD = {
        USABLE,
        .subscribe = SUBSCRIBED
        "*1\r\n$7\r\nmessage\r\n*2\r\n$7\r\nmessage\r\n$1\r\na\r\n"
        "*3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n"
        "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*2\r\n*1\r\n:1\r\n$1\r\nk\r\n"
        "*3\r\n$7\r\nmessage\r\n$28\r\n" CHANNEL "\r\n*1\r\n:1\r\n",
    };
    struct fake_redis fake;
    struct store_fixture store;
    fake_redis_start(&fake, &ODD);
    store_fixture_open_listening(&store, fake.url, CHANNEL);
    store_fixture_await(&store, &store.messages, 1); /* the last of them */
    assert_int_equal(store.listenings, 1);
    assert_int_equal(store.warnings, 0);
    assert_int_equal(store.message_length, 0);
    world_close_fake(&fake, &store);
}

/* Closing */

TEST_IN_WORLD(closing_at_any_moment)
{
    struct store_fixture store;
    for (int turns = 0; turns < 40; turns++) {
        store_fixture_open(&store, world->redis.url);
        store_fixture_listen(&store, CHANNEL);
        for (int i = 0; i < turns; i++) {
            uv_run(&store.loop, UV_RUN_NOWAIT);
            clock_sleep_ms(turns % 2);
        }
        store_fixture_close(&store);
    }
}

static void close_now(struct store_fixture *fixture)
{
    store_close(fixture->store, NULL, NULL);
    fixture->store = NULL;
}

static void expect_closed(struct store_fixture *store, const int *number)
{
    store_fixture_await(store, number, 1);
    uv_close((uv_handle_t *)&store->guard, NULL);
    uv_run(&store->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&store->loop), 0);
    assert_int_equal(*number, 1);
}

TEST_IN_WORLD(closing_from_a_callback)
{
    struct store_fixture store;
    store_fixture_open(&store, world->redis.url);
    store.on_listening = close_now;
    store_fixture_listen(&store, CHANNEL);
    expect_closed(&store, &store.listenings);

    store_fixture_open_listening(&store, world->redis.url, CHANNEL);
    store.on_message = close_now;
    publish(&world->redis, "one");
    publish(&world->redis, "two");
    publish(&world->redis, "three"); /* so that the second has left Redis */
    expect_closed(&store, &store.messages);
}
