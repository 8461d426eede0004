/* Calls for one slot of a Redis Cluster run in the order in which they were made, although some of
 * them are sent elsewhere, and those behind them know better by then. */
#include "tests/support/clock.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/store_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 20, BURST = 40, BURSTS = 5, TRIES = 20, LEARNS_MS = 300, CALLS_MOST = 1000 };

static const char APPEND[] = "return redis.call('RPUSH', KEYS[1], ARGV[1])";

struct world {
    struct clustered clustered;
    struct store_fixture store;
    struct outcome outcomes[CALLS_MOST];
    int calls;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    clustered_start(&world->clustered, &(struct clustered_options){.no_replicas = true});
    store_fixture_open(&world->store, world->clustered.url);
    store_fixture_await(&world->store, &world->store.ups, CLUSTERED_PRIMARIES);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    store_fixture_close(&world->store);
    clustered_stop(&world->clustered);
    free(world);
    return 0;
}

static void append(struct world *world, const char *key, int count)
{
    const struct script *script = fixture_script(APPEND);
    for (int i = 0; i < count; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", world->calls);
        store_fixture_call(&world->store, &world->outcomes[world->calls++], script, key, number);
    }
}

/* On a busy machine a slot may be on its way for longer than its calls wait, or a node not answer
 * for so long: then they do nothing, or may have run. */
static bool came_in_time(const struct outcome *outcome)
{
    return outcome->outcome == STORE_REPLIED;
}

static bool is_explained(const struct outcome *outcome)
{
    return outcome->outcome != STORE_REFUSED || strstr(outcome->error, "has not arrived in time");
}

static void await_all(struct world *world)
{
    for (int i = 0; i < world->calls; i++) {
        while (!world->outcomes[i].ended)
            store_fixture_idle(&world->store, 1);
        if (!is_explained(&world->outcomes[i]))
            fail_msg("call %d: %s", i, world->outcomes[i].error);
    }
}

/* All that was appended is there once, in its order. Returns whether all calls came in time. */
static bool expect_order(struct world *world, const char *key)
{
    size_t next = 0;
    int ran = 0, calls = world->calls;
    int node = clustered_primary(&world->clustered, clustered_slot(key));
    redisReply *list = clustered_ask(&world->clustered, node, "LRANGE %s 0 -1", key);
    int in_time = 0;
    for (int i = 0; i < calls; i++)
        in_time += came_in_time(&world->outcomes[i]);
    for (int last = -1; next < list->elements; next++) {
        int call = atoi(list->element[next]->str);
        assert_in_range(call, 0, calls - 1);
        if (!came_in_time(&world->outcomes[call])) {
            assert_int_equal(world->outcomes[call].outcome, STORE_IN_DOUBT);
            continue;
        }
        assert_true(call > last);
        last = call;
        ran++;
    }
    assert_int_equal(ran, in_time);
    freeReplyObject(list);
    world->calls = 0;
    memset(world->outcomes, 0, sizeof world->outcomes);
    return in_time == calls;
}

/* Numbered, so that no two of them are in one slot by chance. */
static void find_key(struct world *world, int node, const char *name, int number, char key[40])
{
    int tries = 0;
    do
        snprintf(key, 40, "%s:{%d-%d}", name, number, tries++);
    while (clustered_primary(&world->clustered, clustered_slot(key)) != node);
}

static unsigned shard_of(struct world *world, const char *key)
{
    return store_shard(world->store.store, (struct slice){key, strlen(key)});
}

/* The slot has moved from one node, which does not answer for a while, to another. That is heard of
 * by a call for another slot; what was sent to the first node is still on its way to be told so.
 * Returns whether it was heard of in time: not where it is the silent node that is asked. */
static bool overtakes_nobody(struct world *world, int number)
{
    char key[40], other[40];
    struct outcome news = {.ended = false};
    int from = number % CLUSTERED_PRIMARIES, to = (from + 1) % CLUSTERED_PRIMARIES;
    int third = (from + 2) % CLUSTERED_PRIMARIES;
    const struct process *silent = &world->clustered.nodes[from].process;
    find_key(world, from, "order", number, key);
    find_key(world, third, "news", number, other);
    struct slot_move move = {clustered_slot(key), from, to};
    struct slot_move loud = {clustered_slot(other), third, to};
    unsigned before = shard_of(world, key);
    clustered_move(&world->clustered, &move);
    clustered_move(&world->clustered, &loud);
    process_signal(silent, SIGSTOP);
    append(world, key, CALLS / 2);
    store_fixture_call(&world->store, &news, fixture_script(APPEND), other, "");
    int64_t until = clock_ms() + LEARNS_MS;
    while (shard_of(world, key) == before && clock_ms() < until)
        store_fixture_idle(&world->store, 2);
    bool has_learnt = shard_of(world, key) != before;
    append(world, key, CALLS / 2);
    store_fixture_idle(&world->store, 20);
    process_signal(silent, SIGCONT);
    await_all(world);
    while (!news.ended)
        store_fixture_idle(&world->store, 1);
    return expect_order(world, key) && has_learnt;
}

TEST_WITH(later_call_waits_for_one_that_was_redirected, set_up, tear_down)
{
    struct world *world = *state;
    int learnt = 0;
    for (int i = 0; i < TRIES && learnt < 3; i++)
        learnt += overtakes_nobody(world, i);
    assert_true(learnt > 0);
}

static bool is_nobodys(void *context)
{
    struct world *world = context;
    store_fixture_run(&world->store, APPEND, "lost", "x");
    return shard_of(world, "lost") >= store_shard_count(world->store.store);
}

TEST_WITH(slot_of_nobody_has_no_peer, set_up, tear_down)
{
    struct world *world = *state;
    struct store *store = world->store.store;
    assert_true(store_peer(store, shard_of(world, "lost"))->run_id[0] != '\0');
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        freeReplyObject(
            clustered_ask(&world->clustered, i, "CLUSTER DELSLOTS %d", clustered_slot("lost")));
    store_fixture_await_that(&world->store, is_nobodys, world);
    assert_string_equal(store_peer(store, shard_of(world, "lost"))->run_id, "");
}

/* While its key is at the one node, then at the other, then the slot is. */
TEST_WITH(bursts_keep_their_order_while_the_slot_moves, set_up, tear_down)
{
    struct world *world = *state;
    char key[40];
    int whole = 0;
    for (int i = 0; i < TRIES / 2; i++) {
        find_key(world, i % 2, "burst", i, key);
        struct slot_move move = {clustered_slot(key), i % 2, 1 - i % 2};
        for (int burst = 0; burst < BURSTS; burst++) {
            append(world, key, BURST);
            store_fixture_idle(&world->store, i % 3);
            append(world, key, BURST);
            if (burst == 1)
                clustered_begin_move(&world->clustered, &move);
            if (burst == 2 || burst == 3)
                clustered_carry(&world->clustered, &move, 1);
            if (burst == 3)
                clustered_end_move(&world->clustered, &move);
        }
        await_all(world);
        whole += expect_order(world, key);
    }
    assert_true(whole > 0);
}
