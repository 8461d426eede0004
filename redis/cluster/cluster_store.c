#include "redis/cluster/cluster_store.h"

#include "redis/cluster/cluster_inbox.h"
#include "redis/cluster/cluster_shards.h"
#include "redis/cluster/preflight_cluster.h"
#include "redis/cluster/primary_lease.h"
#include "redis/cluster/router.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = sizeof((struct failure *)0)->text };

_Static_assert((int)SLOT_TAG_SIZE == (int)STORE_TAG_SIZE,
               "what slot_tag writes, store_tag hands out");

struct cluster_store {
    struct store_events events;
    struct cluster *cluster;
    struct router *router;
    struct cluster_shards *shards;
    struct cluster_inbox inbox;
    unsigned answering; /* the shard that answered last, for cluster_store_mark */
    unsigned tagged_slot;
    unsigned up_last;
    struct failure lost; /* why the topology can ask no node */
    char text[TEXT_SIZE];
    int open; /* how many of shards and inbox are open */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Events of the shards */

static void cluster_store_warn(void *context, const char *text)
{
    const struct cluster_store *store = context;
    if (store->events.warning)
        store->events.warning(store->events.context, text);
}

static void cluster_store_on_up(void *context, unsigned node)
{
    struct cluster_store *store = context;
    store->up_last = node;
    cluster_note_up(store->cluster, node);
    cluster_inbox_note_up(&store->inbox);
    if (store->events.up)
        store->events.up(store->events.context, node);
}

static void cluster_store_on_down(void *context, unsigned node, int code, const char *reason)
{
    struct cluster_store *store = context;
    (void)code; /* a service goes on trying, whatever the reason */
    if (store->events.down)
        store->events.down(store->events.context, node, reason);
}

static void cluster_store_on_touched(void *context, struct slice key)
{
    const struct cluster_store *store = context;
    if (cluster_shards_tracks(store->shards) && store->events.touched)
        store->events.touched(store->events.context, key);
}

static void cluster_store_on_answered(void *context, unsigned node, uint64_t nanoseconds)
{
    struct cluster_store *store = context;
    store->answering = node;
    if (store->events.answered)
        store->events.answered(store->events.context, nanoseconds);
}

static void cluster_store_on_late(void *context, unsigned node)
{
    struct cluster_store *store = context;
    store->answering = node;
}

static void cluster_store_on_stamp(void *context, unsigned node, uint64_t now,
                                   char stamp[STORE_STAMP_LENGTH])
{
    const struct cluster_store *store = context;
    store->events.stamp(store->events.context, node, now, stamp);
}

static void cluster_store_on_redirected(void *context, struct call *call, const char *error)
{
    struct cluster_store *store = context;
    router_redirected(store->router, call, error);
}

static void cluster_store_on_marker_astray(void *context, unsigned node)
{
    struct cluster_store *store = context;
    cluster_refresh(store->cluster);
    cluster_shards_mark_anew(store->shards, node);
}

/* Events of the cluster */

static void cluster_store_on_joined(void *context, unsigned node, struct endpoint *endpoint)
{
    struct cluster_store *store = context;
    if (!cluster_shards_join(store->shards, node, endpoint))
        cluster_store_warn(store, "cannot connect to a node of the Redis Cluster. Check the files "
                                  "of redis-ca, redis-cert and redis-key.");
}

static void cluster_store_tell_taken(struct cluster_store *store)
{
    unsigned last_to = CLUSTER_NOBODY, last_from = CLUSTER_NOBODY;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned from = cluster_take_former(store->cluster, slot);
        unsigned to = cluster_owner(store->cluster, slot);
        if (from == CLUSTER_NOBODY || (from == last_from && to == last_to) || !store->events.taken)
            continue;
        store->events.taken(store->events.context, to, from);
        last_to = to;
        last_from = from;
    }
}

static void cluster_store_on_mapped(void *context)
{
    struct cluster_store *store = context;
    if (store->closing)
        return;
    cluster_store_tell_taken(store); /* first: the next call may dismiss the former owner */
    cluster_shards_note_map(store->shards);
    cluster_inbox_note_map(&store->inbox);
    if (store->events.moved)
        store->events.moved(store->events.context);
}

/* Before a map is known there is no shard: reports shard 0 as down. */
static void cluster_store_on_lost(void *context, int code, const char *reason)
{
    struct cluster_store *store = context;
    if (store->closing)
        return;
    struct failure before = store->lost;
    failure_set(&store->lost, code, "%s", reason);
    bool is_told = strcmp(before.text, store->lost.text) == 0;
    if (cluster_shards_count(store->shards) > 0)
        cluster_store_warn(store, reason);
    else if (store->events.down && !is_told)
        store->events.down(store->events.context, 0, reason);
}

/* Calls */

static void cluster_store_on_sent_away(void *context, unsigned to, unsigned from)
{
    struct cluster_store *store = context;
    if (store->events.taken && to != from)
        store->events.taken(store->events.context, to, from);
}

static struct node *cluster_store_node_at(void *context, unsigned node)
{
    const struct cluster_store *store = context;
    const struct cluster_shard *shard = cluster_shards_at(store->shards, node);
    return shard ? cluster_shard_node(shard) : NULL;
}

static void cluster_store_eval(void *state, const struct script *script, struct slice key,
                               const struct slice *arguments, size_t argument_count,
                               store_done *done, void *context)
{
    struct cluster_store *store = state;
    router_eval(store->router, script, key, arguments, argument_count, done, context);
}

static void cluster_store_eval_at(void *state, unsigned shard, const struct script *script,
                                  struct slice key, const struct slice *arguments,
                                  size_t argument_count, store_done *done, void *context)
{
    struct cluster_store *store = state;
    (void)key; /* another node may serve it: the script gets no key */
    router_eval_at(store->router, shard, script, arguments, argument_count, done, context);
}

/* The beginning and the end */

static void open_shards(struct cluster_store *store, uv_loop_t *loop, const struct redis_url *url)
{
    const struct node_options options = {
        .loop = loop,
        .url = url,
        .events = {.context = store,
                   .up = cluster_store_on_up,
                   .down = cluster_store_on_down,
                   .warning = cluster_store_warn,
                   .touched = cluster_store_on_touched,
                   .answered = cluster_store_on_answered,
                   .late = cluster_store_on_late,
                   .stamp = store->events.stamp ? cluster_store_on_stamp : NULL,
                   .redirected = cluster_store_on_redirected,
                   .marker_astray = cluster_store_on_marker_astray}};
    store->shards = cluster_shards_open(store->cluster, &options);
    const struct cluster_inbox_options inbox_options = {.loop = loop,
                                                        .url = url,
                                                        .cluster = store->cluster,
                                                        .shards = store->shards,
                                                        .events = &store->events};
    cluster_inbox_init(&store->inbox, &inbox_options);
}

static int cluster_store_open(void **ret, uv_loop_t *loop, const struct redis_url *url,
                              const struct store_events *events)
{
    struct cluster_store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->events = *events;
    const struct cluster_events cluster_events = {store, cluster_store_on_joined,
                                                  cluster_store_on_mapped, cluster_store_on_lost};
    int result = cluster_open(&store->cluster, loop, url, &cluster_events, NULL);
    if (result < 0) {
        free(store);
        return result;
    }
    open_shards(store, loop, url);
    const struct router_options router_options = {loop,
                                                  store->cluster,
                                                  (unsigned)url->timeout_ms,
                                                  cluster_store_node_at,
                                                  cluster_store_on_sent_away,
                                                  store};
    store->router = router_open(&router_options);
    *ret = store;
    return 0;
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
    cluster_shards_free(store->shards);
    free(store);
    closed(closed_context);
}

/* Shards and the inbox follow the cluster's endpoints, so the cluster goes last. */
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

static void cluster_store_close(void *state, void (*closed)(void *context), void *context)
{
    struct cluster_store *store = state;
    store->closing = true;
    store->closed = closed;
    store->closed_context = context;
    router_stop(store->router);
    store->open = 1 + cluster_inbox_close(&store->inbox, cluster_store_on_one_closed, store);
    cluster_shards_close(store->shards, cluster_store_on_one_closed, store);
}

/* What the store wants of each shard */

static int cluster_store_listen(void *state, struct slice channel)
{
    struct cluster_store *store = state;
    return cluster_inbox_listen(&store->inbox, channel);
}

static void cluster_store_track(void *state, struct slice prefix)
{
    struct cluster_store *store = state;
    cluster_shards_track(store->shards, prefix);
}

static void cluster_store_untrack(void *state)
{
    struct cluster_store *store = state;
    cluster_shards_untrack(store->shards);
}

static void cluster_store_expect_replicas(void *state, struct slice key, int replicas)
{
    struct cluster_store *store = state;
    cluster_shards_expect_replicas(store->shards, key, replicas);
}

static struct store_mark cluster_store_mark(const void *state)
{
    const struct cluster_store *store = state;
    const struct cluster_shard *shard = cluster_shards_at(store->shards, store->answering);
    return shard ? node_mark(cluster_shard_node(shard)) : (struct store_mark){0};
}

static void cluster_store_confirm(void *state, struct store_mark mark, int replicas,
                                  int64_t timeout_ms, store_confirmed *done, void *context)
{
    struct cluster_store *store = state;
    const struct cluster_shard *shard = cluster_shards_at(store->shards, mark.shard);
    node_confirm(cluster_shard_node(shard), mark, replicas, timeout_ms, done, context);
}

/* Which shard serves what */

static unsigned cluster_store_shard(const void *state, struct slice key)
{
    const struct cluster_store *store = state;
    return cluster_owner(store->cluster, slot_of(key));
}

/* A shard's position is its first slot, so every batond sees the shards in the same order. */
static bool cluster_store_seek(const void *state, unsigned *position, unsigned *ret_shard)
{
    const struct cluster_store *store = state;
    bool is_seen[CLUSTER_NODES_MOST] = {false};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        unsigned node = cluster_owner(store->cluster, slot);
        if (!cluster_shards_at(store->shards, node) || is_seen[node])
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
    unsigned slot = cluster_next_slot(store->cluster, shard, store->tagged_slot);
    if (slot != SLOT_COUNT)
        store->tagged_slot = slot;
    cluster_store_write_tag(slot, tag);
}

static void cluster_store_first_tag(const void *state, unsigned shard, char tag[STORE_TAG_SIZE])
{
    const struct cluster_store *store = state;
    cluster_store_write_tag(cluster_next_slot(store->cluster, shard, SLOT_COUNT - 1), tag);
}

/* State */

static unsigned cluster_store_shard_count(const void *state)
{
    const struct cluster_store *store = state;
    return cluster_shards_count(store->shards);
}

static struct node *cluster_store_node(const void *state, unsigned shard)
{
    const struct cluster_store *store = state;
    return cluster_shard_node(cluster_shards_at(store->shards, shard));
}

static bool cluster_store_shard_serves(const void *state, unsigned shard)
{
    const struct cluster_store *store = state;
    return cluster_shards_serves(store->shards, shard);
}

static bool cluster_store_shard_is_up(const void *state, unsigned shard)
{
    const struct cluster_store *store = state;
    return cluster_shards_is_up(store->shards, shard);
}

static bool cluster_store_is_up(const void *state)
{
    const struct cluster_store *store = state;
    return cluster_shards_are_up(store->shards);
}

static const char *cluster_store_trouble(void *state)
{
    struct cluster_store *store = state;
    const struct cluster_shard *down = cluster_shards_first_down(store->shards);
    if (down)
        return node_trouble(cluster_shard_node(down));
    unsigned uncovered = cluster_uncovered(store->cluster);
    if (cluster_shards_count(store->shards) == 0)
        return store->lost.text;
    snprintf(store->text, sizeof store->text,
             "no node serves %u of the %d slots of the Redis Cluster", uncovered, SLOT_COUNT);
    return uncovered > 0 ? store->text : "";
}

static const char *cluster_store_place(const void *state)
{
    const struct cluster_store *store = state;
    const struct cluster_shard *shard = cluster_shards_at(store->shards, store->up_last);
    return shard ? node_place(cluster_shard_node(shard)) : "a Redis Cluster";
}

static const char *cluster_store_summary(void *state)
{
    struct cluster_store *store = state;
    struct cluster_shards_tally tally = cluster_shards_tally(store->shards);
    snprintf(store->text, sizeof store->text,
             "a Redis Cluster: %u of %u primaries connected, %u of %d slots assigned", tally.up,
             tally.serving, SLOT_COUNT - cluster_uncovered(store->cluster), SLOT_COUNT);
    return store->text;
}

static struct store_figures cluster_store_figures(const void *state)
{
    const struct cluster_store *store = state;
    return cluster_shards_figures(store->shards);
}

const struct transport cluster_transport = {
    .open = cluster_store_open,
    .close = cluster_store_close,
    .preflight = preflight_cluster,
    .eval_at = cluster_store_eval_at,
    .listen = cluster_store_listen,
    .node = cluster_store_node,
    .shard_count = cluster_store_shard_count,
    .shard_is_up = cluster_store_shard_is_up,
    .is_up = cluster_store_is_up,
    .trouble = cluster_store_trouble,
    .place = cluster_store_place,
    .figures = cluster_store_figures,
    .eval = cluster_store_eval,
    .shard = cluster_store_shard,
    .shard_serves = cluster_store_shard_serves,
    .seek_shard = cluster_store_seek,
    .tag = cluster_store_tag,
    .first_tag = cluster_store_first_tag,
    .track = cluster_store_track,
    .untrack = cluster_store_untrack,
    .expect_replicas = cluster_store_expect_replicas,
    .mark = cluster_store_mark,
    .confirm = cluster_store_confirm,
    .primary = cluster_store_summary,
    .require_primary_lease = cluster_store_require_primary_lease,
    .primary_lease_ms = PRIMARY_LEASE_MS,
};
