#include "redis/cluster/router.h"

#include "base/memory.h"
#include "redis/wire/call.h"
#include "redis/wire/errors.h"

#include <sys/queue.h>

enum {
    GO_ON_MS = 2,      /* between two attempts to send held calls */
    TRY_AGAIN_MS = 3,  /* the pause after TRYAGAIN */
    WIND_DOWN_MS = 10, /* the pause after more than DETOURS_QUICK redirects of a call */
    DETOURS_QUICK = 4,
    WHOLE = SLOT_COUNT, /* instead of a slot: the call is for a node */
};

/* Held calls by serial number, the lowest first: all calls of one slot, or one call for a node. */
struct lane {
    SLIST_ENTRY(lane) others;
    unsigned slot;
    uint64_t not_before; /* on the loop's clock, in ms */
    bool is_tried;       /* the lane has sent one call, and it has not come back */
    struct call *first;
};

struct router {
    const struct shards *shards;
    struct cluster *cluster;
    const struct slot_map *map; /* of the cluster, as is the table */
    struct node_table *table;
    uv_timer_t timer; /* runs while there are held calls */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
    uint64_t serial;
    SLIST_HEAD(lanes, lane) lanes;
    struct lane *lane_of[SLOT_COUNT]; /* by slot; NULL: no call of the slot is held */
    unsigned open[SLOT_COUNT];        /* by slot: how many calls are under way */
    uint16_t at[SLOT_COUNT];          /* by slot: the node that has all these calls, so that none
                                       * overtakes another */
};

/* Lanes */

static void router_on_timer(uv_timer_t *timer);

static struct lane *lane_open(struct router *router, unsigned slot)
{
    struct lane *lane = memory_checked(calloc(1, sizeof *lane));
    lane->slot = slot;
    SLIST_INSERT_HEAD(&router->lanes, lane, others);
    if (slot != WHOLE)
        router->lane_of[slot] = lane;
    if (!uv_is_active((uv_handle_t *)&router->timer))
        uv_timer_start(&router->timer, router_on_timer, GO_ON_MS, GO_ON_MS);
    return lane;
}

static void lane_put(struct lane *lane, struct call *call)
{
    struct call **at = &lane->first;
    while (*at && (*at)->routing.serial < call->routing.serial)
        at = &(*at)->next;
    call->next = *at;
    *at = call;
}

static struct call *lane_take(struct lane *lane)
{
    struct call *call = lane->first;
    lane->first = call->next;
    return call;
}

/* Sending */

/* NULL if no node serves the slot. Also NULL after router_stop, when nodes may be gone. */
static struct node *router_node(const struct router *router, unsigned number)
{
    return router->closing ? NULL : shards_at(router->shards, number);
}

/* The node that serves the slot; after ASK, and for a call to a node, the node of the call. */
static unsigned target_of(const struct router *router, const struct call *call)
{
    bool is_settled = call->asking || call->routing.slot == WHOLE;
    return is_settled ? call->routing.node : slot_map_owner(router->map, call->routing.slot);
}

static void router_send(struct router *router, struct call *call, unsigned number)
{
    struct routing *routing = &call->routing;
    routing->node = number;
    if (routing->slot != WHOLE) {
        routing->open = &router->open[routing->slot];
        ++*routing->open;
        router->at[routing->slot] = (uint16_t)number;
    }
    node_eval(router_node(router, number), call);
}

static const char *why_not(const struct router *router, unsigned number)
{
    const struct node *node = router_node(router, number);
    const char *trouble = node ? node_trouble(node) : "";
    if (router->closing)
        return "this batond is stopping";
    if (!node)
        return "no node of the Redis Cluster serves this name";
    return trouble[0] ? trouble : "this batond could not connect to the node in time";
}

/* Whether the first call of the lane can be sent now, or the lane is no longer needed. */
static bool router_can_go_on(const struct router *router, const struct lane *lane, uint64_t now)
{
    if (now < lane->not_before || (lane->slot != WHOLE && router->open[lane->slot] > 0))
        return false;
    if (!lane->first)
        return true;
    const struct node *node = router_node(router, target_of(router, lane->first));
    return node && node_serves(node);
}

/* Ends the calls whose time is over. No node has run them. */
static void lane_give_up(struct router *router, struct lane *lane, uint64_t now)
{
    struct call *kept = NULL, **end = &kept;
    struct call *over = NULL, **over_end = &over;
    for (struct call *call = lane->first, *next; call; call = next) {
        struct call ***where = call->routing.give_up <= now ? &over_end : &end;
        next = call->next;
        call->next = NULL;
        **where = call;
        *where = &call->next;
    }
    lane->first = kept;
    for (struct call *call = over, *next; call; call = next) {
        next = call->next;
        const struct node *node = router_node(router, target_of(router, call));
        if (call->routing.detours > 0 || (node && node_serves(node)))
            call_finish(call, STORE_REFUSED, NULL,
                        "the name's slot of the Redis Cluster is moving from one node to another, "
                        "and has not arrived in time, so nothing was done");
        else
            call_finish(call, STORE_UNSENT, NULL, why_not(router, target_of(router, call)));
    }
}

static void lane_close(struct router *router, struct lane *lane)
{
    SLIST_REMOVE(&router->lanes, lane, lane, others);
    if (lane->slot != WHOLE)
        router->lane_of[lane->slot] = NULL;
    free(lane);
}

/* Sends held calls in order. If a slot is about to arrive, its node may refuse one call and run
 * the next. So the first call goes alone; once the node has run it, and not because of ASK, the
 * others follow. */
static void lane_go_on(struct router *router, struct lane *lane)
{
    bool goes_alone =
        lane->slot != WHOLE && lane->first && (lane->first->asking || !lane->is_tried);
    unsigned node = lane->first ? target_of(router, lane->first) : CLUSTER_NOBODY;
    if (goes_alone) {
        lane->is_tried = !lane->first->asking;
        router_send(router, lane_take(lane), node);
        return;
    }
    while (lane->first && (lane->slot == WHOLE || !lane->first->asking))
        router_send(router, lane_take(lane), node);
    if (!lane->first)
        lane_close(router, lane);
}

static void router_go_on(struct router *router)
{
    uint64_t now = uv_now(router->shards->loop);
    for (struct lane *lane = SLIST_FIRST(&router->lanes), *next; lane; lane = next) {
        lane_give_up(router, lane, router->closing ? UINT64_MAX : now);
        next = SLIST_NEXT(lane, others); /* a caller whose call failed may call again */
        if (router->closing && !lane->first)
            lane_close(router, lane);
        else if (router_can_go_on(router, lane, now))
            lane_go_on(router, lane);
    }
    if (SLIST_EMPTY(&router->lanes))
        uv_timer_stop(&router->timer);
}

static void router_on_timer(uv_timer_t *timer)
{
    router_go_on(timer->data);
}

/* Calls */

static struct call *router_new_call(struct router *router, const struct script_call *script_call,
                                    size_t key_count, unsigned slot)
{
    struct call *call = call_new_script(script_call, key_count);
    call_allow(call, (unsigned)router->shards->url->timeout_ms);
    call->routing = (struct routing){
        .serial = router->serial++, .give_up = call->deadline, .slot = slot, .is_on = true};
    return call;
}

void router_eval(struct router *router, const struct script_call *script_call)
{
    unsigned slot = slot_of(script_call->key), owner = slot_map_owner(router->map, slot);
    struct call *call = router_new_call(router, script_call, 2, slot);
    struct lane *lane = router->lane_of[slot];
    struct node *node = router_node(router, owner);
    bool is_hopeless = node && !node_is_up(node) &&
                       !node_table_is_fresh(router->table, owner, router->shards->url->timeout_ms);
    bool in_order = !lane && (router->open[slot] == 0 || router->at[slot] == owner);
    if (in_order && node && (node_serves(node) || is_hopeless)) {
        router_send(router, call, owner);
        return;
    }
    lane = lane ? lane : lane_open(router, slot);
    if (!node && lane->first == NULL)
        call->routing.give_up = 0;
    lane_put(lane, call);
}

void router_eval_at(struct router *router, unsigned number, const struct script_call *script_call)
{
    struct call *call = router_new_call(router, script_call, 0, WHOLE);
    call->asking = true;
    call->routing.node = number;
    struct node *node = router_node(router, number);
    if (node && (node_serves(node) || !node_is_up(node))) {
        router_send(router, call, number);
        return;
    }
    if (!node)
        call->routing.give_up = 0;
    lane_put(lane_open(router, WHOLE), call);
}

/* Redirects */

static uint64_t pause_after(const struct call *call, bool tries_again)
{
    if (call->routing.detours > DETOURS_QUICK)
        return WIND_DOWN_MS; /* two nodes may redirect to each other */
    return tries_again ? TRY_AGAIN_MS : 0;
}

/* Returns false if the target is not known yet. */
static bool router_follow(struct router *router, struct call *call, const struct redirect *redirect)
{
    const struct store_events *events = &router->shards->store_events;
    struct routing *routing = &call->routing;
    unsigned by = routing->node;
    unsigned node = redirect->ask
                        ? node_table_meet(router->table, &redirect->to, by)
                        : cluster_note_moved(router->cluster, routing->slot, &redirect->to, by);
    call->asking = redirect->ask && node != CLUSTER_NOBODY;
    if (node == CLUSTER_NOBODY)
        return false;
    if (redirect->ask)
        routing->node = node;
    if (events->migrated && node != by)
        events->migrated(events->context, node, by);
    return true;
}

static void router_hold(struct router *router, struct call *call, bool tries_again)
{
    unsigned slot = call->routing.slot;
    struct lane *lane = slot != WHOLE ? router->lane_of[slot] : NULL;
    uint64_t not_before = uv_now(router->shards->loop) + pause_after(call, tries_again);
    lane = lane ? lane : lane_open(router, slot);
    if (lane->not_before < not_before)
        lane->not_before = not_before;
    lane->is_tried = false;
    lane_put(lane, call);
    if (router_can_go_on(router, lane, uv_now(router->shards->loop)))
        lane_go_on(router, lane);
}

void router_redirected(struct router *router, struct call *call, const char *error)
{
    struct routing *routing = &call->routing;
    struct redirect redirect;
    bool tries_again = error_has_code(error, "TRYAGAIN");
    bool is_redirect = redirect_read(error, &redirect) && redirect.slot == routing->slot;
    if (router->closing || !(tries_again || is_redirect)) {
        char text[STORE_ERROR_TEXT];
        error_explain(error, text, sizeof text);
        cluster_refresh(router->cluster); /* after CLUSTERDOWN the map may be outdated */
        call_finish(call, STORE_REFUSED, NULL, text);
        return;
    }
    if (routing->open)
        --*routing->open;
    routing->open = NULL;
    routing->detours++;
    call->asking = routing->slot == WHOLE;
    if (is_redirect && !router_follow(router, call, &redirect))
        tries_again = true;
    router_hold(router, call, tries_again);
}

/* The beginning and the end */

struct router *router_open(const struct shards *shards, struct cluster *cluster)
{
    struct router *router = memory_checked(calloc(1, sizeof *router));
    router->shards = shards;
    router->cluster = cluster;
    router->map = cluster_map(cluster);
    router->table = cluster_nodes(cluster);
    uv_timer_init(shards->loop, &router->timer);
    router->timer.data = router;
    return router;
}

static void router_on_timer_closed(uv_handle_t *timer)
{
    struct router *router = timer->data;
    void (*closed)(void *context) = router->closed;
    void *closed_context = router->closed_context;
    free(router);
    closed(closed_context);
}

void router_stop(struct router *router)
{
    router->closing = true;
}

void router_close(struct router *router, void (*closed)(void *context), void *context)
{
    router_stop(router);
    router->closed = closed;
    router->closed_context = context;
    while (!SLIST_EMPTY(&router->lanes))
        router_go_on(router);
    uv_close((uv_handle_t *)&router->timer, router_on_timer_closed);
}
