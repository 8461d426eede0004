/* What a node does not send: calls after its time is over, and a marker that it cannot write. */
#include "redis/node/node.h"
#include "tests/redis/world.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

static const char COUNT[] = "return redis.call('INCR', KEYS[1])";

static int set_up(void **state)
{
    return world_set_up(state, &(struct redis_options){.port = true}, NULL);
}

/* A node that may be used until its endpoint says so, on the loop of the world's store. */
struct limited {
    struct endpoint endpoint;
    struct node *node;
    struct call *later; /* the next stamp makes this call, and ends the time */
    int ups, ended, closed;
};

struct limited_call {
    struct limited *limited;
    enum store_outcome outcome;
};

static void limited_up(void *context, unsigned number)
{
    (void)number;
    ((struct limited *)context)->ups++;
}

static void limited_down(void *context, unsigned number, int code, const char *reason)
{
    (void)context, (void)number, (void)code, (void)reason;
}

static void limited_doubted(void *context)
{
    (void)context;
}

static void limited_closed(void *context)
{
    ((struct limited *)context)->closed++;
}

static void limited_done(void *context, const struct store_result *result)
{
    struct limited_call *call = context;
    call->outcome = result->outcome;
    call->limited->ended++;
}

static struct call *limited_new_call(struct limited_call *call, const struct script *script)
{
    const struct script_call made = {script, slice_of("a"), .done = limited_done, .context = call};
    return call_new_script(&made, 1);
}

static void limited_stamp(void *context, unsigned shard, uint64_t now, char *stamp)
{
    struct limited *limited = context;
    struct call *later = limited->later;
    (void)shard, (void)now, (void)stamp;
    limited->later = NULL;
    if (!later)
        return;
    node_eval(limited->node, later);
    endpoint_limit(&limited->endpoint, 0);
}

/* Whether it is the primary still, the node has to hear first. A call that goes before all others
 * is one that asks. */
TEST_IN_WORLD(a_call_does_not_go_again_once_the_time_of_its_node_is_over)
{
    struct limited limited = {.later = NULL};
    struct limited_call missed = {&limited, STORE_IN_DOUBT}, first = missed, held = missed;
    struct redis_url url;
    assert_int_equal(redis_url_parse(world->redis.port_url, &url, NULL), 0);
    url.timeout_ms = redis_patience_ms();
    endpoint_init(&limited.endpoint, limited_doubted, NULL);
    endpoint_set(&limited.endpoint, "127.0.0.1", world->redis.port);
    const struct store_events store_events = {.context = &limited, .stamp = limited_stamp};
    const struct node_options options = {
        &world->store.loop, &url, &limited.endpoint,
        .events = {.context = &limited, .up = limited_up, .down = limited_down},
        .store_events = &store_events};
    limited.node = node_open(&options);
    store_fixture_await(&world->store, &limited.ups, 1);

    const struct script *script = fixture_script(COUNT);
    node_eval(limited.node, limited_new_call(&missed, script));
    node_eval_first(limited.node, limited_new_call(&first, script));
    endpoint_limit(&limited.endpoint, 0);
    store_fixture_await(&world->store, &limited.ended, 2);
    assert_int_equal(missed.outcome, STORE_UNSENT);
    assert_int_equal(first.outcome, STORE_REPLIED);

    endpoint_limit(&limited.endpoint, UINT64_MAX);
    script = fixture_script("return 2");
    node_eval(limited.node, limited_new_call(&missed, script));
    limited.later = limited_new_call(&held, script); /* while the library is on its way */
    store_fixture_await(&world->store, &limited.ended, 4);
    assert_int_equal(missed.outcome, STORE_REPLIED);
    assert_int_equal(held.outcome, STORE_UNSENT);

    node_close(limited.node, limited_closed, &limited);
    store_fixture_await(&world->store, &limited.closed, 1);
    redis_url_free(&url);
}

static void count_error(void *context, const char *error)
{
    *(int *)context += error != NULL;
}

static bool has_got_a_marker(void *context)
{
    static const char STATS[] =
        "return redis.call('INFO', 'commandstats'):find('cmdstat_set:') and 1 or 0";
    return redis_process_integer(context, "EVAL %s 0", STATS) == 1;
}

/* As at a node of a Cluster that serves no slot yet: nothing is written until there is a key for
 * it. */
TEST_IN_WORLD(without_a_marker_no_round_begins)
{
    static int unconfirmed; /* it is answered when the world ends */
    struct store *store = world->store.store;
    store_fixture_run(&world->store, COUNT, "a", "");
    store_confirm(store, store_mark(store), 3, 2 * CLOCK_HANG_MS, count_error, &unconfirmed);
    store_fixture_idle(&world->store, 50);
    assert_false(has_got_a_marker(&world->redis));
    store_expect_replicas(store, slice_of("marker"), 0);
    store_fixture_await_that(&world->store, has_got_a_marker, &world->redis);
    assert_int_equal(unconfirmed, 0);
}

/* Nor does one follow the other at once, where the node does not serve the key. */
TEST(rounds_whose_marker_is_elsewhere_are_spaced)
{
    static const struct fake_answers ELSEWHERE = {.info = "redis_version:7.0.0\r\nrun_id:a\r\n",
                                                  .eval = ":7\r\n",
                                                  .set = "-MOVED 1 127.0.0.1:1\r\n"};
    enum { TIMEOUT_MS = 200, MOST = TIMEOUT_MS };
    struct fake_redis fake;
    struct store_fixture store;
    int unconfirmed = 0;
    world_open_fake(&fake, &store, &ELSEWHERE);
    store_expect_replicas(store.store, slice_of("marker"), 0);
    assert_int_equal(store_fixture_run(&store, COUNT, "a", "").integer, 7);
    int before = atomic_load(&fake.commands);
    store_confirm(store.store, store_mark(store.store), 1, TIMEOUT_MS, count_error, &unconfirmed);
    store_fixture_await(&store, &unconfirmed, 1);
    assert_in_range(atomic_load(&fake.commands) - before, 0, MOST);
    world_close_fake(&fake, &store);
}
