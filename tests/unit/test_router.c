/* The router against nodes that are made up: they answer as those of a Redis Cluster whose slots
 * move, in any order and at any time, and whatever they do, each call ends once, is run once at
 * most, and those of a slot are run in the order in which they were made. */
#include "redis/cluster/router.h"
#include "redis/wire/call.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, KEYS = 4, CALLS = 4000, FIRST_PORT = 7000 };

struct node {
    unsigned number;
    bool up;
    struct call_queue pending, unsent;
};

/* One slot, and what the nodes know of it. */
struct truth {
    unsigned slot, owner, target;
    bool moves;   /* from the owner to the target; */
    bool carried; /* the name is there already, */
    bool split;   /* or in both places */
};

struct world {
    uv_loop_t loop;
    struct redis_url url;
    struct shards shards;
    struct router *router;
    struct node nodes[NODES];
    struct truth truths[KEYS];
    struct slot_map map; /* as the cluster module would know it */
    bool fresh;
    int made, ended, run, unsent, refused, explained, lost;
    int run_last[KEYS];
    int doubts;
    uint64_t random;
};

static struct world *world;

static struct truth *truth_of(unsigned slot)
{
    for (int i = 0; i < KEYS; i++)
        if (world->truths[i].slot == slot)
            return &world->truths[i];
    return NULL;
}

/* In place of cluster.c and node_table.c. */

bool node_table_is_fresh(const struct node_table *table, unsigned number, int within_ms)
{
    (void)table, (void)number, (void)within_ms;
    return world->fresh;
}

unsigned node_table_meet(struct node_table *table, const struct slot_node *named, unsigned by)
{
    (void)table;
    assert_in_range(by, 0, NODES - 1);
    assert_in_range(named->port, FIRST_PORT, FIRST_PORT + NODES - 1);
    return (unsigned)(named->port - FIRST_PORT);
}

static void learn(int key, unsigned owner)
{
    slot_map_give(&world->map, world->truths[key].slot, owner == NODES ? CLUSTER_NOBODY : owner);
}

unsigned cluster_note_moved(struct cluster *cluster, unsigned slot, const struct slot_node *owner,
                            unsigned by)
{
    unsigned number = node_table_meet(NULL, owner, by);
    (void)cluster;
    learn((int)(truth_of(slot) - world->truths), number);
    return number;
}

struct slot_map *cluster_map(struct cluster *cluster)
{
    (void)cluster;
    return &world->map;
}

struct node_table *cluster_nodes(struct cluster *cluster)
{
    (void)cluster;
    return NULL;
}

void cluster_refresh(struct cluster *cluster)
{
    (void)cluster;
    world->doubts++;
}

/* In place of node.c. */

bool node_is_up(const struct node *node)
{
    return node->up;
}

bool node_serves(const struct node *node)
{
    return node->up;
}

const char *node_trouble(const struct node *node)
{
    return node->up ? "" : "it is down";
}

void node_eval(struct node *node, struct call *call)
{
    call_queue_push(node->up ? &node->pending : &node->unsent, call);
}

struct node *shards_at(const struct shards *shards, unsigned number)
{
    (void)shards;
    return number < NODES ? &world->nodes[number] : NULL;
}

static void migrated(void *context, unsigned to, unsigned from)
{
    (void)context;
    assert_in_range(to, 0, NODES - 1);
    assert_in_range(from, 0, NODES - 1);
    assert_int_not_equal(to, from);
}

/* The nodes. */

struct making {
    int number;
    int key;
    bool ended;
};

static void redirect(struct call *call, const char *code, unsigned node)
{
    char error[80];
    snprintf(error, sizeof error, "%s %u node%u:%u", code, call->routing.slot, node,
             FIRST_PORT + node);
    router_redirected(world->router, call, error);
}

static void run_it(struct call *call)
{
    const struct making *making = call->context;
    assert_false(making->ended);
    if (making->number < world->run_last[making->key])
        fail_msg("call %d is run after call %d", making->number, world->run_last[making->key]);
    world->run_last[making->key] = making->number;
    world->run++;
    call_finish(call, STORE_REPLIED, NULL, NULL);
}

/* A call that a node has reached. */
static void answer(struct node *node, struct call *call)
{
    const struct truth *truth = truth_of(call->routing.slot);
    bool is_owner = node->number == truth->owner;
    bool is_asked = truth->moves && node->number == truth->target && call->asking;
    bool is_here = is_owner ? !truth->moves || !truth->carried : truth->carried;
    if (!is_owner && !is_asked)
        redirect(call, "MOVED", truth->owner);
    else if ((truth->moves && truth->split) || (is_asked && !is_here))
        router_redirected(world->router, call, "TRYAGAIN");
    else if (is_here)
        run_it(call);
    else
        redirect(call, "ASK", truth->target);
}

static void lose(struct node *node)
{
    struct call_queue lost = call_queue_take(&node->pending);
    node->up = false;
    for (struct call *call = call_queue_pop(&lost); call; call = call_queue_pop(&lost))
        call_finish(call, STORE_IN_DOUBT, NULL, "lost");
}

static void fail_unsent(struct node *node)
{
    struct call_queue unsent = call_queue_take(&node->unsent);
    for (struct call *call = call_queue_pop(&unsent); call; call = call_queue_pop(&unsent))
        call_finish(call, STORE_UNSENT, NULL, "down");
}

/* How many calls of the slot that node has to answer. */
static int count_awaited(unsigned node, unsigned slot)
{
    int count = 0;
    for (const struct call *call = world->nodes[node].pending.head; call; call = call->next)
        count += call->routing.slot == slot;
    return count;
}

/* A slot goes one step on its way; but it does not arrive at a node between two calls that are on
 * the wire to it: see router.h. */
static void move(int key)
{
    struct truth *truth = &world->truths[key];
    if (!truth->moves) {
        truth->moves = true;
        truth->carried = truth->split = false;
        truth->target = (truth->owner + 1 + seed_draw(&world->random, NODES - 1)) % NODES;
    } else if (!truth->split && !truth->carried) {
        truth->split = true;
    } else if (truth->split) {
        truth->split = false;
        truth->carried = true;
    } else if (count_awaited(truth->target, truth->slot) == 0) {
        truth->owner = truth->target;
        truth->moves = false;
        if (seed_draw(&world->random, 2) == 0) /* the map is ahead of those that are on their way */
            learn(key, truth->owner);
    }
}

/* Calls. */

static void done(void *context, const struct store_result *result)
{
    struct making *making = context;
    assert_false(making->ended);
    making->ended = true;
    world->ended++;
    world->unsent += result->outcome == STORE_UNSENT;
    world->refused += result->outcome == STORE_REFUSED;
    world->explained += result->error && strstr(result->error, "nothing was done. ");
    world->lost += result->outcome == STORE_IN_DOUBT;
}

static void name_of(int key, char name[16])
{
    snprintf(name, 16, "{key %d}", key);
}

static void make(struct making *all)
{
    static const struct script SCRIPT = {.name = "test", .function = "test"};
    char name[16];
    struct making *making = &all[world->made];
    *making = (struct making){.number = ++world->made, .key = (int)seed_draw(&world->random, KEYS)};
    name_of(making->key, name);
    const struct script_call call = {&SCRIPT, slice_of(name), .done = done, .context = making};
    router_eval(world->router, &call);
    assert_false(making->ended);
}

static int set_up_with(int timeout_ms)
{
    world = calloc(1, sizeof *world);
    /* The same each time: how many calls come to be run depends on it. */
    world->random = 2463534242;
    uv_loop_init(&world->loop);
    slot_map_init(&world->map);
    world->url.timeout_ms = timeout_ms;
    world->shards = (struct shards){
        .loop = &world->loop, .url = &world->url, .store_events.migrated = migrated};
    world->router = router_open(&world->shards, NULL);
    for (unsigned i = 0; i < NODES; i++)
        world->nodes[i] = (struct node){.number = i, .up = true};
    for (int i = 0; i < KEYS; i++) {
        char name[16];
        name_of(i, name);
        world->truths[i].slot = slot_of(slice_of(name));
        world->truths[i].owner = (unsigned)i % NODES;
        learn(i, world->truths[i].owner);
    }
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(REDIS_TIMEOUT_MS);
}

/* No call gives up, however long a busy machine keeps the test waiting. */
static int set_up_patient(void **state)
{
    (void)state;
    return set_up_with(2 * CLOCK_HANG_MS);
}

static void closed(void *context)
{
    (void)context;
    world->router = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    router_close(world->router, closed, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_null(world->router);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    free(world);
    return 0;
}

static void turn(void)
{
    uv_run(&world->loop, UV_RUN_NOWAIT);
}

/* One of the nodes answers one call, if it has one. */
static void answer_some(void)
{
    struct node *node = &world->nodes[seed_draw(&world->random, NODES)];
    struct call *call = call_queue_pop(&node->pending);
    if (call)
        answer(node, call);
    fail_unsent(node);
}

static void settle_all(void)
{
    uint64_t until = uv_hrtime() + CLOCK_HANG_MS * UINT64_C(1000000);
    while (world->ended < world->made && uv_hrtime() < until) {
        answer_some();
        turn();
    }
    assert_int_equal(world->ended, world->made);
}

/* Slots move, the map is behind or ahead, and nothing is lost. */
TEST_WITH(calls_follow_moving_slots_in_order, set_up_patient, tear_down)
{
    struct making *all = calloc(CALLS, sizeof *all);
    while (world->made < CALLS) {
        if (seed_draw(&world->random, 3) == 0)
            make(all);
        if (seed_draw(&world->random, 40) == 0)
            move((int)seed_draw(&world->random, KEYS));
        if (seed_draw(&world->random, 60) == 0) {
            int key = (int)seed_draw(&world->random, KEYS);
            learn(key, world->truths[key].owner);
        }
        answer_some();
        turn();
    }
    for (int i = 0; i < KEYS; i++)
        while (world->truths[i].moves) {
            move(i);
            answer_some();
        }
    settle_all();
    assert_int_equal(world->run + world->refused,
                     CALLS); /* refused: not in time, on a busy machine */
    assert_true(world->run > CALLS / 2);
    assert_int_equal(world->unsent + world->lost, 0);
    free(all);
}

/* Nodes are lost as well: what is run is run in order, and each call still ends. */
TEST_WITH(losses_end_calls_and_change_no_order, set_up_patient, tear_down)
{
    struct making *all = calloc(CALLS, sizeof *all);
    while (world->made < CALLS) {
        if (seed_draw(&world->random, 3) == 0)
            make(all);
        if (seed_draw(&world->random, 40) == 0)
            move((int)seed_draw(&world->random, KEYS));
        if (seed_draw(&world->random, 200) == 0)
            lose(&world->nodes[seed_draw(&world->random, NODES)]);
        if (seed_draw(&world->random, 50) == 0)
            world->nodes[seed_draw(&world->random, NODES)].up = true;
        if (seed_draw(&world->random, 30) == 0) {
            int key = (int)seed_draw(&world->random, KEYS);
            learn(key, seed_draw(&world->random, 10) == 0 ? NODES : world->truths[key].owner);
        }
        world->fresh = seed_draw(&world->random, 2);
        answer_some();
        /* Some turns wait for the pause of calls that are held: on a quick machine nodes are lost
         * no more often than those go on. */
        uv_run(&world->loop, world->made % 64 == 0 ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    }
    for (int i = 0; i < NODES; i++)
        world->nodes[i].up = true;
    for (int i = 0; i < KEYS; i++) {
        while (world->truths[i].moves) {
            move(i);
            answer_some();
        }
        learn(i, world->truths[i].owner);
    }
    settle_all();
    assert_true(world->run > CALLS / 10);
    assert_true(world->unsent + world->lost > 0);
    free(all);
}

/* Two nodes that each say that the other has it: no call runs, nor for ever, nor at full speed. */
TEST_WITH(a_loop_ends_by_the_deadline, set_up, tear_down)
{
    struct making all[1];
    uint64_t begun = uv_now(&world->loop);
    make(all);
    int answers = 0;
    while (world->ended == 0) {
        for (unsigned i = 0; i < NODES; i++) {
            struct call *call = call_queue_pop(&world->nodes[i].pending);
            answers += call != NULL;
            if (call)
                redirect(call, "MOVED", (i + 1) % NODES);
        }
        uv_run(&world->loop, UV_RUN_ONCE);
    }
    assert_int_equal(world->refused, 1);
    assert_true(uv_now(&world->loop) - begun >= REDIS_TIMEOUT_MS);
    assert_in_range(answers, 1, REDIS_TIMEOUT_MS / 5); /* a redirect takes a while */
}

/* A slot that never arrives: the call is refused in time, and so is the one behind it. */
TEST_WITH(calls_for_a_slot_that_never_arrives_are_refused, set_up, tear_down)
{
    struct making all[8];
    for (int i = 0; i < 8; i++)
        make(all);
    for (int i = 0; i < KEYS; i++) {
        move(i);
        move(i);
    }
    settle_all();
    assert_int_equal(world->refused, 8);
    assert_int_equal(world->run, 0);
}

/* CLUSTERDOWN is no redirect, and no node is known for a slot that nobody serves. */
TEST_WITH(unserved_slot_is_not_waited_for, set_up, tear_down)
{
    struct making all[2];
    make(all);
    for (unsigned i = 0; i < NODES; i++) {
        struct call *call = call_queue_pop(&world->nodes[i].pending);
        if (call)
            router_redirected(world->router, call, "CLUSTERDOWN Hash slot not served");
    }
    assert_int_equal(world->refused, 1);
    assert_int_equal(world->explained, 1);
    assert_int_equal(world->doubts, 1);
    for (int i = 0; i < KEYS; i++)
        learn(i, NODES);
    make(all);
    int turns = 0;
    for (; world->ended < 2; turns++)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_int_equal(world->unsent, 1);
    assert_in_range(turns, 1, REDIS_TIMEOUT_MS / 20); /* each takes some 2 ms */
}

/* It says nothing of where the call is to go. */
TEST_WITH(redirect_of_another_slot_is_refused, set_up, tear_down)
{
    struct making all[1];
    char error[32];
    make(all);
    for (unsigned i = 0; i < NODES; i++) {
        struct call *call = call_queue_pop(&world->nodes[i].pending);
        if (!call)
            continue;
        snprintf(error, sizeof error, "MOVED %u node1:1", (call->routing.slot + 1) % SLOT_COUNT);
        router_redirected(world->router, call, error);
    }
    assert_int_equal(world->refused, 1);
}

/* Of a call for a node as a whole: again where the script says so, and nowhere else. */
TEST_WITH(a_call_for_a_node_stays_there, set_up, tear_down)
{
    static const struct script SCRIPT = {.name = "test", .function = "test"};
    struct making making = {.number = 1};
    const struct script_call called = {&SCRIPT, .done = done, .context = &making};
    router_eval_at(world->router, 2, &called);
    world->made = 1;
    for (int tries = 0; tries < 3; tries++) {
        struct call *call = NULL;
        while (!(call = call_queue_pop(&world->nodes[2].pending)))
            uv_run(&world->loop, UV_RUN_ONCE);
        assert_true(call->asking);
        if (tries < 2)
            router_redirected(world->router, call, "TRYAGAIN");
        else
            call_finish(call, STORE_REPLIED, NULL, NULL);
    }
    assert_int_equal(world->ended, 1);
}
