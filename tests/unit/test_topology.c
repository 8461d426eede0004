/* Which node of a Cluster is asked for the map, by what the nodes answer; the session is made up.
 */
#include "redis/cluster/topology.h"
#include "redis/wire/session.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>

struct session {
    struct session_events events;
    struct endpoint *endpoint;
    call_answered *answered; /* of the last question */
};

struct world {
    uv_loop_t loop;
    struct redis_url url;
    struct slot_map map;
    struct node_table *table;
    struct session session;
    struct topology *topology;
    int maps;
};

static struct world *world;

/* In place of session.c. */

struct session *session_open(uv_loop_t *loop, const struct redis_url *url,
                             struct endpoint *endpoint, const struct session_events *events)
{
    (void)loop, (void)url;
    world->session = (struct session){.events = *events, .endpoint = endpoint};
    return &world->session;
}

void session_close(struct session *session)
{
    session->events.closed(session->events.context);
}

void session_ask(struct session *session, const struct slice *words, size_t count,
                 unsigned answer_ms, call_answered *answered)
{
    (void)words, (void)count, (void)answer_ms;
    session->answered = answered;
}

void session_lose(struct session *session, int code, const char *reason)
{
    session->events.lost(session->events.context, &(struct session_loss){code, reason, true});
}

void session_ask_soon(struct session *session)
{
    (void)session;
}

uint64_t session_asked(const struct session *session)
{
    (void)session;
    return 0;
}

bool session_is_ready(const struct session *session)
{
    (void)session;
    return true;
}

const char *session_place(const struct session *session)
{
    (void)session;
    return "";
}

/* Nodes. */

static void on_joined(void *context, unsigned number, struct endpoint *endpoint)
{
    (void)context, (void)number, (void)endpoint;
}

static void on_mapped(void *context)
{
    (void)context;
    world->maps++;
}

static void on_lost(void *context, int code, const char *reason)
{
    (void)context, (void)code, (void)reason;
}

static void on_closed(void *context)
{
    (void)context;
    world->topology = NULL;
}

static int set_up(void **state)
{
    static const struct cluster_events EVENTS = {
        .joined = on_joined, .mapped = on_mapped, .lost = on_lost};
    (void)state;
    world = calloc(1, sizeof *world);
    assert_non_null(world);
    uv_loop_init(&world->loop);
    assert_int_equal(redis_url_parse("redis+cluster://10.0.0.9", &world->url, NULL), 0);
    slot_map_init(&world->map);
    world->table = node_table_open(&world->loop, &world->map, &EVENTS);
    world->topology = topology_open(&world->loop, &world->url, &world->map, world->table, &EVENTS);
    for (int i = 0; i < 2; i++) {
        struct slot_node node = {slice_of(i ? "b" : "a"), slice_of("10.0.0.1"), 7000 + i};
        assert_int_equal(node_table_meet(world->table, &node, CLUSTER_NOBODY), i);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    topology_close(world->topology, on_closed, NULL);
    assert_null(world->topology);
    node_table_free(world->table);
    redis_url_free(&world->url);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    free(world);
    return 0;
}

static void assert_asks(int port)
{
    assert_int_equal(world->session.endpoint->port, port);
}

/* The answer is a map without slots. */
static void answer(void)
{
    const redisReply reply = {.type = REDIS_REPLY_ARRAY};
    world->session.events.ready(world->session.events.context, NULL);
    world->session.answered(world->session.events.context, &reply);
}

/* Calls go on at two nodes, each of which redirects to a node that nobody knows yet. */
TEST_WITH(a_node_is_not_left_for_another_before_it_has_answered, set_up, tear_down)
{
    topology_retarget(world->topology, 0);
    topology_retarget(world->topology, 1);
    assert_asks(7000);
    answer();
    assert_int_equal(world->maps, 1);
    topology_retarget(world->topology, 1);
    topology_retarget(world->topology, 0);
    assert_asks(7001);
    session_lose(&world->session, -EAGAIN, "it is gone");
    topology_retarget(world->topology, 0);
    assert_asks(7000);
}
