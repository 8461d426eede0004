/* Who the nodes of a Cluster are and where, by what they say of each other, and when they may be
 * used; with primary leases that are made up, and a clock that is set. */
#include "redis/cluster/node_table.h"
#include "redis/store.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 8, START_MS = 100000 };

struct world {
    uv_loop_t loop; /* never runs: its time is set */
    struct slot_map map;
    struct node_table *table;
    struct endpoint *endpoints[NODES];
    unsigned joined;
    int doubts;
    uint64_t ends[NODES]; /* of primary leases */
    uint64_t wake;        /* the earliest; 0: none */
    bool is_asked[NODES];
};

static struct world *world;

/* In place of primary_lease.c. */

uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node)
{
    (void)lease;
    return world->ends[node];
}

void primary_lease_wake(struct primary_lease *lease, uint64_t due)
{
    (void)lease;
    assert_true(due > world->loop.time);
    if (world->wake == 0 || due < world->wake)
        world->wake = due;
}

void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port)
{
    (void)lease, (void)host, (void)port;
    world->is_asked[node] = true;
}

void primary_lease_remove(struct primary_lease *lease, unsigned node)
{
    (void)lease;
    world->is_asked[node] = false;
}

static void require_lease(void)
{
    static char lease;
    node_table_require_primary_lease(world->table, (struct primary_lease *)&lease);
}

/* Nodes. */

static void on_joined(void *context, unsigned number, struct endpoint *endpoint)
{
    (void)context;
    assert_int_equal(number, world->joined);
    world->endpoints[world->joined++] = endpoint;
}

static void on_doubted(void *context)
{
    (void)context;
    world->doubts++;
}

static struct slot_node named(const char *id, const char *host, int port)
{
    return (struct slot_node){slice_of(id), slice_of(host), port};
}

/* As the node at 10.0.0.1:7000 says. */
static unsigned meet(const char *id, const char *host, int port)
{
    struct slot_node node = named(id, host, port);
    return node_table_meet_by(world->table, &node, "10.0.0.1", 7000);
}

/* As a redirect of `by` says. */
static unsigned meet_by(unsigned by, const char *host, int port)
{
    struct slot_node node = named("", host, port);
    return node_table_meet(world->table, &node, by);
}

static void assert_points(unsigned number, const char *host, int port)
{
    assert_true(endpoint_is(world->endpoints[number], host, port));
    assert_string_equal(node_table_address(world->table, number).host, host);
    assert_int_equal(node_table_address(world->table, number).port, port);
}

static int set_up(void **state)
{
    (void)state;
    world = calloc(1, sizeof *world);
    assert_non_null(world);
    uv_loop_init(&world->loop);
    world->loop.time = START_MS;
    slot_map_init(&world->map);
    static const struct cluster_events EVENTS = {.joined = on_joined, .doubted = on_doubted};
    world->table = node_table_open(&world->loop, &world->map, &EVENTS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    node_table_free(world->table);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    free(world);
    return 0;
}

TEST_WITH(a_node_keeps_its_number, set_up, tear_down)
{
    assert_int_equal(meet("a", "10.0.0.1", 7000), 0);
    assert_int_equal(meet_by(0, "10.0.0.2", 7000), 1);
    assert_int_equal(meet("b", "10.0.0.2", 7000), 1); /* now its id is known */
    assert_int_equal(meet("b", "10.0.0.9", 7009), 1);
    assert_points(1, "10.0.0.9", 7009);
    assert_points(0, "10.0.0.1", 7000);
    assert_int_equal(world->joined, 2);
}

TEST_WITH(another_one_may_take_its_place, set_up, tear_down)
{
    assert_int_equal(meet("a", "10.0.0.2", 7000), 0);
    assert_int_equal(meet("b", "10.0.0.2", 7000), 1);
    assert_int_equal(meet_by(0, "10.0.0.2", 7000), 1); /* the last is there */
    assert_int_equal(meet("a", "10.0.0.3", 7000), 0);
    assert_points(0, "10.0.0.3", 7000);
}

static void count_change(void *context)
{
    ++*(int *)context;
}

/* A Redis may say its name with and without the final dot, in either case. */
TEST_WITH(other_spelling_of_address_is_no_news, set_up, tear_down)
{
    int changes = 0;
    struct follower follower = {.context = &changes, .changed = count_change};
    assert_int_equal(meet("a", "a.example", 7000), 0);
    slot_map_give(&world->map, 1, 0);
    struct endpoint *endpoint = world->endpoints[0];
    endpoint_follow(endpoint, &follower);
    endpoint->doubted(endpoint->context);
    assert_int_equal(meet("a", "A.Example.", 7000), 0);
    assert_true(node_table_serves_lost(world->table));
    assert_points(0, "a.example", 7000);
    endpoint_set(endpoint, "a.EXAMPLE.", 7000);
    assert_int_equal(changes, 0);
    endpoint_set(endpoint, "a.example..", 7000);
    assert_int_equal(changes, 1);
    endpoint_leave(endpoint, &follower);
}

TEST_WITH(node_without_an_address_is_unknown, set_up, tear_down)
{
    assert_int_equal(meet("a", "?", 7000), CLUSTER_NOBODY);
    assert_int_equal(meet("a", "10.0.0.2", 0), CLUSTER_NOBODY);
    assert_int_equal(meet_by(5, "", 7000), CLUSTER_NOBODY);
    assert_int_equal(world->joined, 0);
    assert_int_equal(meet("a", "", 7001), 0); /* where whoever answers is */
    assert_points(0, "10.0.0.1", 7001);
    assert_int_equal(meet_by(0, "", 7002), 1);
    assert_points(1, "10.0.0.1", 7002);
    assert_int_equal(meet("a", "?", 7000), 0);
    assert_points(0, "10.0.0.1", 7001);
}

TEST_WITH(search_enters_no_node, set_up, tear_down)
{
    struct slot_node by_address = named("", "10.0.0.2", 7000);
    struct slot_node by_id = named("b", "10.0.0.2", 7000);
    assert_int_equal(node_table_find(world->table, &by_address, 0), CLUSTER_NOBODY);
    assert_int_equal(meet("a", "10.0.0.2", 7000), 0);
    assert_int_equal(node_table_find(world->table, &by_address, 0), 0);
    assert_int_equal(node_table_find(world->table, &by_id, 0), CLUSTER_NOBODY);
    assert_int_equal(world->joined, 1);
}

TEST_WITH(node_that_serves_nothing_can_be_dismissed, set_up, tear_down)
{
    meet("a", "10.0.0.1", 7000);
    slot_map_give(&world->map, 1, 0);
    node_table_dismiss(world->table, 0);
    assert_false(node_table_is_dismissed(world->table, 0));
    slot_map_give(&world->map, 1, CLUSTER_NOBODY);
    node_table_dismiss(world->table, 0);
    assert_true(node_table_is_dismissed(world->table, 0));
    assert_false(world->endpoints[0]->knows);
    assert_int_equal(meet_by(CLUSTER_NOBODY, "10.0.0.1", 7000), 0);
    assert_false(node_table_is_dismissed(world->table, 0));
    assert_points(0, "10.0.0.1", 7000);
}

TEST_WITH(those_that_serve_are_counted, set_up, tear_down)
{
    for (int i = 0; i < 3; i++)
        meet_by(CLUSTER_NOBODY, "10.0.0.1", 7000 + i);
    slot_map_give(&world->map, 1, 2);
    slot_map_give(&world->map, 2, 0);
    assert_int_equal(node_table_count_serving(world->table), 2);
    assert_int_equal(node_table_serving(world->table, 0), 0);
    assert_int_equal(node_table_serving(world->table, 1), 2);
    assert_int_equal(node_table_serving(world->table, 2), CLUSTER_NOBODY);
}

TEST_WITH(lost_node_is_not_fresh, set_up, tear_down)
{
    enum { FRESH_MS = 800 };
    meet("a", "10.0.0.1", 7000);
    slot_map_give(&world->map, 1, 0);
    assert_true(node_table_is_fresh(world->table, 0, FRESH_MS));
    world->endpoints[0]->doubted(world->endpoints[0]->context);
    assert_int_equal(world->doubts, 1);
    assert_true(node_table_serves_lost(world->table));
    assert_false(node_table_is_fresh(world->table, 0, FRESH_MS));
    node_table_note_up(world->table, 0);
    assert_false(node_table_serves_lost(world->table));
    assert_true(node_table_is_fresh(world->table, 0, FRESH_MS));
    world->loop.time += FRESH_MS;
    assert_false(node_table_is_fresh(world->table, 0, FRESH_MS));
    assert_false(node_table_is_fresh(world->table, 1, FRESH_MS));
}

/* Where it is new, those that are asked may not have answered yet. */
TEST_WITH(without_a_lease_an_endpoint_points_nowhere, set_up, tear_down)
{
    require_lease();
    meet("a", "10.0.0.1", 7000);
    assert_false(world->endpoints[0]->knows);
    assert_true(world->endpoints[0]->asks);
    assert_int_equal(world->wake, START_MS + PRIMARY_LEASE_ANSWER_MS);
    world->loop.time += PRIMARY_LEASE_ANSWER_MS;
    node_table_update_endpoints(world->table);
    assert_false(world->endpoints[0]->asks);
    world->ends[0] = world->loop.time + PRIMARY_LEASE_MS;
    world->wake = 0;
    node_table_update_endpoints(world->table);
    assert_points(0, "10.0.0.1", 7000);
    assert_int_equal(world->endpoints[0]->until, world->ends[0]);
    assert_int_equal(world->wake, world->ends[0]);
    world->loop.time = world->ends[0];
    node_table_update_endpoints(world->table);
    assert_false(world->endpoints[0]->knows);
    assert_true(world->endpoints[0]->forbids);
}

TEST_WITH(one_with_a_lease_vouches_for_a_new_one, set_up, tear_down)
{
    require_lease();
    meet("a", "10.0.0.1", 7000);
    meet("b", "10.0.0.2", 7000); /* named by one that has no lease itself */
    assert_false(world->endpoints[1]->knows);
    world->ends[0] = START_MS + 1;
    node_table_update_endpoints(world->table);
    meet("c", "10.0.0.3", 7000);
    assert_points(2, "10.0.0.3", 7000);
    assert_int_equal(world->endpoints[2]->until, START_MS + PRIMARY_LEASE_MS);
    slot_map_give(&world->map, 1, 2);
    world->loop.time += PRIMARY_LEASE_MS;
    world->ends[0] = world->loop.time + 1;
    meet("c", "10.0.0.3", 7000); /* it is no news any more: the others have to say so */
    assert_false(world->endpoints[2]->knows);
}

TEST_WITH(node_does_not_extend_its_own_lease, set_up, tear_down)
{
    require_lease();
    meet("a", "10.0.0.1", 7000);
    world->ends[0] = START_MS + 1;
    meet("a", "10.0.0.1", 7000);
    assert_points(0, "10.0.0.1", 7000);
    world->loop.time = world->ends[0];
    node_table_update_endpoints(world->table);
    assert_false(world->endpoints[0]->knows);
}

TEST_WITH(dismissed_node_may_have_a_lease, set_up, tear_down)
{
    require_lease();
    meet("a", "10.0.0.1", 7000);
    world->ends[0] = START_MS + PRIMARY_LEASE_MS;
    node_table_update_endpoints(world->table);
    assert_points(0, "10.0.0.1", 7000);
    node_table_dismiss(world->table, 0);
    node_table_update_endpoints(world->table);
    assert_false(world->endpoints[0]->knows);
}

TEST_WITH(those_that_serve_are_asked, set_up, tear_down)
{
    require_lease();
    meet("a", "10.0.0.1", 7000);
    meet("b", "10.0.0.2", 7000);
    slot_map_give(&world->map, 1, 1);
    node_table_note_map(world->table);
    assert_false(world->is_asked[0]);
    assert_true(world->is_asked[1]);
    slot_map_give(&world->map, 1, 0);
    world->ends[0] = START_MS + PRIMARY_LEASE_MS;
    node_table_note_map(world->table);
    assert_true(world->is_asked[0]);
    assert_false(world->is_asked[1]);
    assert_points(0, "10.0.0.1", 7000);
}
