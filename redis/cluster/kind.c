/* The nodes of a Redis Cluster. redis/cluster/cluster.h finds out which node serves what, and
 * redis/cluster/router.h where a call goes. */
#include "redis/kind.h"

#include "base/memory.h"
#include "redis/cluster/cluster_inbox.h"
#include "redis/cluster/primary_lease.h"
#include "redis/cluster/router.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = sizeof((struct failure *)0)->text };

_Static_assert((int)SLOT_TAG_SIZE == (int)STORE_TAG_SIZE,
               "what slot_tag writes, store_tag hands out");
_Static_assert((int)SHARDS_MOST == (int)CLUSTER_NODES_MOST, "each node of a Cluster is a shard");

struct cluster_store {
    struct shards *shards;
    struct cluster *cluster;
    struct slot_map *map;     /* of the cluster */
    struct node_table *table; /* of the cluster */
    struct router *router;
    struct cluster_inbox inbox;
    unsigned tagged_slot;
    char *marker; /* without its tag; NULL before cluster_store_expect_replicas */
    int expected;
    uint16_t marked[SHARDS_MOST]; /* by node: the slot of its marker, plus 1; 0: it has none */
    struct failure lost;          /* why the topology can ask no node */
    char text[TEXT_SIZE];
    int open; /* 1 until cluster_store_close, plus 1 while the inbox is open */
    void (*closed)(void *context);
    void *closed_context;
};

static bool cluster_store_shard_serves(const void *state, unsigned shard)
{
    const struct cluster_store *store = state;
    return slot_map_count(store->map, shard) > 0;
}

/* The markers for replicas: each node has a key of its own, in a slot that it serves */

/* Each time in another slot, because a slot may be moving to another node. */
static void cluster_store_mark(struct cluster_store *store, unsigned node)
{
    char tag[SLOT_TAG_SIZE], key[TEXT_SIZE];
    unsigned before = store->marked[node] ? store->marked[node] - 1U : SLOT_COUNT - 1;
    unsigned slot = slot_map_next(store->map, node, before);
    if (slot == SLOT_COUNT)
        return;
    slot_tag(slot, tag);
    snprintf(key, sizeof key, "%s:{%s}", store->marker, tag);
    store->marked[node] = (uint16_t)(slot + 1);
    node_expect_replicas(store->shards->nodes[node], slice_of(key), store->expected);
}

static bool cluster_store_is_marked(const struct cluster_store *store, unsigned node)
{
    return store->marked[node] && slot_map_owner(store->map, store->marked[node] - 1U) == node;
}

static void cluster_store_expect_replicas(void *state, struct slice key, int replicas)
{
    struct cluster_store *store = state;
    store->marker = memory_checked(strndup(key.bytes, key.length));
    store->expected = replicas;
    for (unsigned i = 0; i < store->shards->count; i++)
        if (store->shards->nodes[i] && cluster_store_shard_serves(store, i))
            cluster_store_mark(store, i);
}

static void cluster_store_on_marker_moved(void *state, unsigned shard)
{
    struct cluster_store *store = state;
    cluster_refresh(store->cluster);
    cluster_store_mark(store, shard);
}

/* Events of the nodes and of the cluster */

static bool cluster_store_on_up(void *state, unsigned shard)
{
    struct cluster_store *store = state;
    node_table_note_up(store->table, shard);
    cluster_inbox_note_up(&store->inbox);
    return true;
}

static void cluster_store_on_joined(void *context, unsigned node, struct endpoint *endpoint)
{
    struct cluster_store *store = context;
    shards_add(store->shards, node, store->shards->url, endpoint);
}

static void cluster_store_on_doubted(void *context)
{
    const struct cluster_store *store = context;
    cluster_refresh(store->cluster);
}

static void cluster_store_report_migrated(struct cluster_store *store)
{
    unsigned last_to = CLUSTER_NOBODY, last_from = CLUSTER_NOBODY;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned from = slot_map_take_former(store->map, slot);
        unsigned to = slot_map_owner(store->map, slot);
        if (from == CLUSTER_NOBODY || (from == last_from && to == last_to) ||
            !store->shards->store_events.migrated)
            continue;
        store->shards->store_events.migrated(store->shards->store_events.context, to, from);
        last_to = to;
        last_from = from;
    }
}

/* What the store wants of each node goes to those that serve slots. A node that serves nothing any
 * more is dismissed once no call waits for its answer. */
static void cluster_store_update(struct cluster_store *store, unsigned node)
{
    struct shards *shards = store->shards;
    if (!cluster_store_shard_serves(store, node)) {
        if (node_is_idle(shards->nodes[node]) &&
            !node_table_is_fresh(store->table, node, shards->url->timeout_ms))
            node_table_dismiss(store->table, node);
        return;
    }
    if (shards->prefix.bytes && !node_tracks(shards->nodes[node]))
        shards_track(shards, node);
    if (store->marker && !cluster_store_is_marked(store, node))
        cluster_store_mark(store, node);
}

static void cluster_store_on_mapped(void *context)
{
    struct cluster_store *store = context;
    const struct store_events *events = &store->shards->store_events;
    if (store->shards->closing)
        return;
    cluster_store_report_migrated(store); /* first: the next call may dismiss the former owner */
    for (unsigned i = 0; i < store->shards->count; i++)
        cluster_store_update(store, i);
    cluster_inbox_note_map(&store->inbox);
    if (events->moved)
        events->moved(events->context);
}

/* Before a map is known there is no shard: reports shard 0 as down. */
static void cluster_store_on_lost(void *context, int code, const char *reason)
{
    struct cluster_store *store = context;
    const struct node_events *events = &store->shards->node_events;
    if (store->shards->closing)
        return;
    struct failure before = store->lost;
    failure_set(&store->lost, code, "%s", reason);
    bool is_reported = strcmp(before.text, store->lost.text) == 0;
    if (store->shards->count > 0)
        shards_warn(store->shards, reason);
    else if (!is_reported)
        events->down(events->context, 0, code, reason);
}

/* Calls */

static void cluster_store_on_redirected(void *state, struct call *call, const char *error)
{
    const struct cluster_store *store = state;
    router_redirected(store->router, call, error);
}

static void cluster_store_eval(void *state, const struct script_call *call)
{
    const struct cluster_store *store = state;
    router_eval(store->router, call);
}

static void cluster_store_eval_at(void *state, unsigned shard, const struct script_call *call)
{
    const struct cluster_store *store = state;
    router_eval_at(store->router, shard, call);
}

/* The beginning and the end */

static void *cluster_store_open(struct shards *shards)
{
    struct cluster_store *store = memory_checked(calloc(1, sizeof *store));
    store->shards = shards;
    store->open = 1;
    shards->keys_apart = true;
    const struct cluster_events events = {store, cluster_store_on_joined, cluster_store_on_doubted,
                                          cluster_store_on_mapped, cluster_store_on_lost};
    store->cluster = cluster_open(shards->loop, shards->url, &events);
    store->map = cluster_map(store->cluster);
    store->table = cluster_nodes(store->cluster);
    cluster_inbox_init(&store->inbox, store->map, store->table, shards);
    store->router = router_open(shards, store->cluster);
    return store;
}

static void cluster_store_require_primary_lease(void *state)
{
    struct cluster_store *store = state;
    cluster_require_primary_lease(store->cluster);
}

static void cluster_store_on_cluster_closed(void *context)
{
    struct cluster_store *store = context;
    void (*closed)(void *context) = store->closed;
    void *closed_context = store->closed_context;
    free(store->marker);
    free(store);
    closed(closed_context);
}

/* Nodes and the inbox follow the cluster's endpoints, so the cluster goes last. */
static void cluster_store_on_router_closed(void *context)
{
    struct cluster_store *store = context;
    cluster_close(store->cluster, cluster_store_on_cluster_closed, store);
}

static void cluster_store_on_one_closed(void *context)
{
    struct cluster_store *store = context;
    if (--store->open == 0)
        router_close(store->router, cluster_store_on_router_closed, store);
}

static void cluster_store_stop(void *state)
{
    struct cluster_store *store = state;
    router_stop(store->router);
    store->open += cluster_inbox_close(&store->inbox, cluster_store_on_one_closed, store);
}

static void cluster_store_close(void *state, void (*closed)(void *context), void *context)
{
    struct cluster_store *store = state;
    store->closed = closed;
    store->closed_context = context;
    cluster_store_on_one_closed(store);
}

static void cluster_store_listen(void *state, struct slice channel)
{
    struct cluster_store *store = state;
    cluster_inbox_listen(&store->inbox, channel);
}

/* Which shard serves what */

static unsigned cluster_store_shard(const void *state, struct slice key)
{
    const struct cluster_store *store = state;
    return slot_map_owner(store->map, slot_of(key));
}

/* A shard's position is its first slot, so every batond sees the shards in the same order. */
static bool cluster_store_seek(const void *state, unsigned *position, unsigned *ret_shard)
{
    const struct cluster_store *store = state;
    bool is_seen[CLUSTER_NODES_MOST] = {false};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned node = slot_map_owner(store->map, slot);
        if (!shards_at(store->shards, node) || is_seen[node])
            continue;
        if (slot >= *position) {
            *position = slot;
            *ret_shard = node;
            return true;
        }
        is_seen[node] = true;
    }
    return false;
}

static void cluster_store_write_tag(unsigned slot, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (slot != SLOT_COUNT)
        slot_tag(slot, tag);
}

/* Takes another slot each time, because a slot may be moving to another node. */
static void cluster_store_tag(void *state, unsigned shard, char tag[STORE_TAG_SIZE])
{
    struct cluster_store *store = state;
    unsigned slot = slot_map_next(store->map, shard, store->tagged_slot);
    if (slot != SLOT_COUNT)
        store->tagged_slot = slot;
    cluster_store_write_tag(slot, tag);
}

static void cluster_store_first_tag(const void *state, unsigned shard, char tag[STORE_TAG_SIZE])
{
    const struct cluster_store *store = state;
    cluster_store_write_tag(slot_map_next(store->map, shard, SLOT_COUNT - 1), tag);
}

/* Preflight: the map is enough. No session with a node that it names has been made yet. */
static int cluster_store_judge(const void *state, const struct preflight_report *reports,
                               struct failure *failure)
{
    const struct cluster_store *store = state;
    if (store->shards->count == 0)
        return failure_set(failure, reports[0].code, "%s", reports[0].text.text);
    if (store->map->uncovered == 0)
        return 0;
    return failure_set(failure, -EAGAIN,
                       "no node serves %u of the %d slots of the Redis Cluster. Assign them with "
                       "`redis-cli --cluster fix`.",
                       store->map->uncovered, SLOT_COUNT);
}

/* Its condition */

static bool cluster_store_is_up(const void *state, struct shards_tally tally)
{
    const struct cluster_store *store = state;
    return tally.up == tally.serving && store->map->uncovered == 0;
}

static const char *cluster_store_trouble(void *state)
{
    struct cluster_store *store = state;
    unsigned uncovered = store->map->uncovered;
    if (store->shards->count == 0)
        return store->lost.text;
    snprintf(store->text, sizeof store->text,
             "no node serves %u of the %d slots of the Redis Cluster", uncovered, SLOT_COUNT);
    return uncovered > 0 ? store->text : "";
}

static const char *cluster_store_primary(void *state, struct shards_tally tally)
{
    struct cluster_store *store = state;
    snprintf(store->text, sizeof store->text,
             "a Redis Cluster: %u of %u primaries connected, %u of %d slots assigned", tally.up,
             tally.serving, SLOT_COUNT - store->map->uncovered, SLOT_COUNT);
    return store->text;
}

const struct kind cluster_kind = {
    .open = cluster_store_open,
    .judge = cluster_store_judge,
    .silence = "no node of the Redis Cluster could be used",
    .stop = cluster_store_stop,
    .close = cluster_store_close,
    .up = cluster_store_on_up,
    .is_up = cluster_store_is_up,
    .trouble = cluster_store_trouble,
    .primary = cluster_store_primary,
    .eval = cluster_store_eval,
    .eval_at = cluster_store_eval_at,
    .redirected = cluster_store_on_redirected,
    .shard = cluster_store_shard,
    .shard_serves = cluster_store_shard_serves,
    .seek_shard = cluster_store_seek,
    .tag = cluster_store_tag,
    .first_tag = cluster_store_first_tag,
    .listen = cluster_store_listen,
    .expect_replicas = cluster_store_expect_replicas,
    .marker_moved = cluster_store_on_marker_moved,
    .require_primary_lease = cluster_store_require_primary_lease,
    .primary_lease_ms = PRIMARY_LEASE_MS,
};
