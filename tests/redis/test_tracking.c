/* Tracked keys: each change is reported, or that any may have been missed, over all losses. */
#include "redis/node/tracking.h"
#include "tests/redis/world.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL "baton:inbox:0123456789abcdef"
#define PREFIX  "baton:{"

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

static int set_up(void **state)
{
    return world_set_up(state, &(struct redis_options){.durable = true}, CHANNEL);
}

static void command(struct world *world, const char *text)
{
    freeReplyObject(redis_process_command(&world->redis, text));
}

/* A change is reported; whatever came before it has arrived by then. */
static void expect_invalidated(struct world *world, const char *name)
{
    char key[64];
    int before = world->store.touches;
    snprintf(key, sizeof key, PREFIX "%s}", name);
    freeReplyObject(redis_process_command(&world->redis, "SET %s 1", key));
    store_fixture_await(&world->store, &world->store.touches, before + 1);
    assert_int_equal(world->store.touches, before + 1);
    assert_string_equal(world->store.invalidated, key);
}

/* So that what was sent to Redis before has been done. */
static void settle(struct world *world)
{
    assert_int_equal(store_fixture_run(&world->store, "return 1", "a", "").integer, 1);
}

static int64_t tracking_clients(struct world *world)
{
    redisReply *reply = redis_process_command(&world->redis, "INFO clients");
    const char *found = strstr(reply->str, "tracking_clients:");
    int64_t count = found ? atoi(found + strlen("tracking_clients:")) : -1;
    freeReplyObject(reply);
    return count;
}

TEST_IN_WORLD(every_kind_of_change_is_reported)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    expect_invalidated(world, "a");
    assert_int_equal(store_fixture_run(&world->store, COUNT, PREFIX "b}", "").integer, 1);
    store_fixture_await(&world->store, &world->store.touches, 2);
    assert_string_equal(world->store.invalidated, PREFIX "b}");
    command(world, "DEL " PREFIX "b}");
    store_fixture_await(&world->store, &world->store.touches, 3);
    command(world, "PEXPIRE " PREFIX "a} 10");
    store_fixture_await(&world->store, &world->store.touches, 5); /* set, and over */
    assert_string_equal(world->store.invalidated, PREFIX "a}");
    command(world, "SET baton:other 1");
    command(world, "SET other 1");
    expect_invalidated(world, "c");
    assert_int_equal(world->store.touches_of_any, 0);
}

TEST_IN_WORLD(many_keys_at_once_are_reported)
{
    static const char FILL[] = "for i = 1, 10000 do redis.call('SET', ARGV[1] .. i, 1) end "
                               "return 1";
    store_fixture_track(&world->store, PREFIX);
    assert_int_equal(store_fixture_run(&world->store, FILL, "a", PREFIX).integer, 1);
    store_fixture_await(&world->store, &world->store.touches, 10000);
    assert_int_equal(world->store.touches, 10000);
}

TEST_IN_WORLD(flushing_may_change_any)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    redis_process_flush(&world->redis);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
}

/* Before anything is connected: then what changed until it began may have been missed. */
TEST_IN_WORLD(tracking_may_be_asked_for_at_once)
{
    store_fixture_close(&world->store);
    store_fixture_open(&world->store, world->redis.url);
    store_fixture_track(&world->store, PREFIX);
    store_fixture_listen(&world->store, CHANNEL);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
    assert_int_equal(world->store.touches_of_any, 1);
}

TEST_IN_WORLD(tracking_outlives_the_command_connection)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    command(world, "CLIENT KILL TYPE normal SKIPME yes");
    command(world, "SET " PREFIX "missed} 1");
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
    assert_int_equal(world->store.touches_of_any, 1);
    assert_int_equal(world->store.listenings, 1);
}

TEST_IN_WORLD(tracking_outlives_the_inbox)
{
    store_fixture_track(&world->store, PREFIX);
    for (int i = 1; i <= 3; i++) {
        settle(world);
        command(world, "CLIENT KILL TYPE pubsub");
        command(world, "SET " PREFIX "missed} 1");
        store_fixture_await(&world->store, &world->store.touches_of_any, i);
        assert_int_equal(world->store.listenings, 1 + i);
        expect_invalidated(world, "a");
        assert_int_equal(world->store.touches_of_any, i);
    }
    assert_int_equal(world->store.ups, 1);
    assert_int_equal(world->store.warnings, 3); /* of the inbox */
    assert_int_equal(tracking_clients(world), 1);
}

/* The old inbox is gone for Redis before it is for us: the attempt that names it is no news. */
TEST_IN_WORLD(tracking_begun_on_a_lost_inbox)
{
    command(world, "CLIENT KILL TYPE pubsub");
    store_fixture_track(&world->store, PREFIX);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
    assert_int_equal(world->store.warnings, 1);
    assert_non_null(strstr(world->store.warning, "get their locks late"));
}

TEST_IN_WORLD(tracking_begun_on_a_lost_command_connection)
{
    command(world, "CLIENT KILL TYPE normal SKIPME yes");
    store_fixture_track(&world->store, PREFIX);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
}

TEST_IN_WORLD(tracking_outlives_redis)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    redis_process_kill(&world->redis);
    store_fixture_await(&world->store, &world->store.downs, 1);
    redis_process_resume(&world->redis);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
    assert_int_equal(world->store.touches_of_any, 1);
}

/* An earlier one may be about an inbox that is gone. */
TEST(only_the_last_answer_counts)
{
    struct tracking tracking = {.wanted = true, .awaiting = 3, .missed = true};
    assert_false(tracking_answered(&tracking, NULL));
    assert_false(tracking_answered(&tracking, "ERR no"));
    assert_true(tracking_answered(&tracking, NULL));
    tracking.awaiting = 1;
    assert_false(tracking_answered(&tracking, NULL)); /* nothing was missed since */
}

TEST_IN_WORLD(tracking_survives_a_frozen_redis)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    redis_process_freeze(&world->redis);
    store_fixture_await(&world->store, &world->store.warnings, 1);
    redis_process_thaw(&world->redis);
    store_fixture_await(&world->store, &world->store.touches_of_any, 1);
    expect_invalidated(world, "a");
}

TEST_IN_WORLD(untracking_ends_it_in_redis_too)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    expect_invalidated(world, "a");
    assert_int_equal(tracking_clients(world), 1);
    store_fixture_untrack(&world->store);
    settle(world);
    assert_int_equal(tracking_clients(world), 0);
    command(world, "SET " PREFIX "b} 1");
    command(world, "CLIENT KILL TYPE pubsub");
    store_fixture_await(&world->store, &world->store.listenings, 2);
    settle(world);
    assert_int_equal(tracking_clients(world), 0);
    assert_int_equal(world->store.touches, 1);
    assert_int_equal(world->store.touches_of_any, 0);

    store_fixture_track(&world->store, PREFIX);
    settle(world);
    expect_invalidated(world, "c");
}

/* What was on its way when it ended is not reported. */
TEST_IN_WORLD(untracking_ends_all_reports)
{
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    command(world, "SET " PREFIX "a} 1");
    store_fixture_untrack(&world->store);
    settle(world);
    command(world, "PUBLISH " CHANNEL " later"); /* by the connection that would report it */
    store_fixture_await(&world->store, &world->store.messages, 1);
    assert_int_equal(world->store.touches, 0);
}

TEST_IN_WORLD(another_prefix_takes_the_place_of_the_first)
{
    store_fixture_track(&world->store, "other:");
    store_fixture_track(&world->store, PREFIX);
    settle(world);
    command(world, "SET other:a 1");
    expect_invalidated(world, "a");
    assert_int_equal(world->store.touches_of_any, 0);
}

static void track_as(struct world *world, const char *rights, const char *warning)
{
    char url[200];
    freeReplyObject(redis_process_command(&world->redis, "ACL SETUSER baton reset on >pw ~* &* "
                                                         "+info +subscribe +ping +fcall "
                                                         "+function|load +set"));
    freeReplyObject(redis_process_command(&world->redis, "ACL SETUSER baton %s", rights));
    snprintf(url, sizeof url, "unix://baton:pw@%s", world->redis.socket);
    struct store_fixture store;
    store_fixture_open_listening(&store, url, CHANNEL);
    store_fixture_track(&store, PREFIX);
    store_fixture_await(&store, &store.warnings, 1);
    if (!strstr(store.warning, warning))
        fail_msg("`%s` does not say `%s`", store.warning, warning);
    command(world, "CLIENT KILL TYPE pubsub");
    store_fixture_await(&store, &store.listenings, 2);
    assert_int_equal(store_fixture_run(&store, "return 1", "a", "").integer, 1);
    assert_int_equal(store.warnings, 2); /* of the inbox; the other is reported once */
    assert_int_equal(store.touches_of_any, 0);

    command(world, "ACL SETUSER baton +client");
    command(world, "CLIENT KILL TYPE normal SKIPME yes");
    command(world, "CLIENT KILL TYPE pubsub");
    store_fixture_await(&store, &store.touches_of_any, 1);
    store_fixture_close(&store);
}

TEST_IN_WORLD(a_user_who_may_not_track_learns_how_to)
{
    track_as(world, "+client|id", "+client|tracking");
    track_as(world, "+client|tracking", "+client|id");
}

static void close_now(struct store_fixture *fixture)
{
    store_close(fixture->store, NULL, NULL);
    fixture->store = NULL;
}

/* In the middle of the keys of one message. */
TEST_IN_WORLD(closing_from_invalidated)
{
    struct store_fixture store;
    store_fixture_open_listening(&store, world->redis.url, CHANNEL);
    store_fixture_track(&store, PREFIX);
    assert_int_equal(store_fixture_run(&store, "return 1", "a", "").integer, 1);
    store.on_invalidated = close_now;
    command(world, "MSET " PREFIX "a} 1 " PREFIX "b} 1 " PREFIX "c} 1");
    store_fixture_await(&store, &store.touches, 1);
    uv_close((uv_handle_t *)&store.guard, NULL);
    uv_run(&store.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&store.loop), 0);
    assert_int_equal(store.touches, 1);
}
