#include "redis/store.h"

#include "base/memory.h"
#include "redis/address/access.h"
#include "redis/preflight.h"

enum { FIRST_SHARD = 0 };

struct store {
    const struct kind *kind;
    void *state; /* the kind's; NULL without one */
    struct shards shards;
    struct redis_url url;
    unsigned up_last;
    unsigned answering; /* the shard that answered last, if only that a call came too late */
    bool requires_primary_lease;
    void (*closed)(void *context);
    void *closed_context;
};

static const struct kind *store_kind(const struct redis_url *url)
{
    static const struct kind *const by_kind[] = {
        [REDIS_SERVER] = &single_kind,
        [REDIS_WATCHED] = &sentinel_kind,
        [REDIS_CLUSTER] = &cluster_kind,
        [REDIS_QUORUM] = &quorum_kind,
    };
    return by_kind[url->kind];
}

static struct node *store_node(const struct store *store, unsigned shard)
{
    return store->shards.nodes[shard];
}

/* Events of the nodes */

static void store_on_up(void *context, unsigned shard)
{
    struct store *store = context;
    const struct store_events *events = &store->shards.store_events;
    if (store->kind->up && !store->kind->up(store->state, shard))
        return;
    store->up_last = shard;
    if (events->up)
        events->up(events->context, shard);
}

static void store_on_down(void *context, unsigned shard, int code, const char *reason)
{
    const struct store *store = context;
    const struct store_observer *observer = &store->shards.store_events.observer;
    (void)code; /* a service goes on trying, whatever the reason */
    if (observer->down && (!store->kind->down || store->kind->down(store->state, shard)))
        observer->down(observer->context, shard, reason);
}

static void store_on_replied(void *context, unsigned shard)
{
    struct store *store = context;
    store->answering = shard;
}

static void store_on_redirected(void *context, struct call *call, const char *error)
{
    const struct store *store = context;
    store->kind->redirected(store->state, call, error);
}

static void store_on_marker_moved(void *context, unsigned shard)
{
    const struct store *store = context;
    store->kind->marker_moved(store->state, shard);
}

/* The beginning and the end */

int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    return preflight_run(store_kind(url), url, timeout_ms, failure);
}

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct redis_url own;
    redis_url_copy(url, &own);
    int result = redis_access_read_files(&own, NULL);
    if (result < 0) {
        redis_url_free(&own);
        return result;
    }
    struct store *store = memory_checked(calloc(1, sizeof *store));
    store->url = own;
    const struct kind *kind = store->kind = store_kind(url);
    store->shards = (struct shards){
        .loop = loop,
        .url = &store->url,
        .store_events = *events,
        .node_events = {.context = store,
                        .up = store_on_up,
                        .down = store_on_down,
                        .replied = store_on_replied,
                        .redirected = store_on_redirected,
                        .marker_moved = kind->marker_moved ? store_on_marker_moved : NULL},
    };
    if (kind->open)
        store->state = kind->open(&store->shards);
    else
        shards_add(&store->shards, FIRST_SHARD, &store->url, NULL);
    *ret = store;
    return 0;
}

static void store_end(void *context)
{
    struct store *store = context;
    void (*closed)(void *context) = store->closed;
    void *closed_context = store->closed_context;
    redis_url_free(&store->url);
    free(store);
    if (closed)
        closed(closed_context);
}

/* Nodes may follow endpoints of the state, so it goes last. */
static void store_on_shards_closed(void *context)
{
    struct store *store = context;
    if (store->state)
        store->kind->close(store->state, store_end, store);
    else
        store_end(store);
}

bool store_is_closing(const struct store *store)
{
    return store->shards.closing;
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    if (!store)
        return;
    store->closed = closed;
    store->closed_context = context;
    if (store->kind->stop && store->state)
        store->kind->stop(store->state);
    shards_close(&store->shards, store_on_shards_closed, store);
}

/* Shards and keys */

unsigned store_shard(const struct store *store, struct slice key)
{
    return store->kind->shard ? store->kind->shard(store->state, key) : FIRST_SHARD;
}

unsigned store_shard_count(const struct store *store)
{
    return store->shards.count;
}

bool store_shard_serves(const struct store *store, unsigned shard)
{
    return shards_at(&store->shards, shard) &&
           (!store->kind->shard_serves || store->kind->shard_serves(store->state, shard));
}

bool store_seek_shard(const struct store *store, unsigned *position, unsigned *ret_shard)
{
    if (store->kind->seek_shard)
        return store->kind->seek_shard(store->state, position, ret_shard);
    *ret_shard = FIRST_SHARD;
    return *position == 0;
}

void store_tag(struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->kind->tag)
        store->kind->tag(store->state, shard, tag);
}

void store_first_tag(const struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->kind->first_tag)
        store->kind->first_tag(store->state, shard, tag);
}

/* Calls */

void store_eval_at(struct store *store, unsigned shard, const struct script_call *call)
{
    if (store->kind->eval_at)
        store->kind->eval_at(store->state, shard, call);
    else
        node_eval(store_node(store, shard), call_new_script(call, 1));
}

void store_eval(struct store *store, const struct script_call *call)
{
    if (store->kind->eval)
        store->kind->eval(store->state, call);
    else
        node_eval(store_node(store, FIRST_SHARD), call_new_script(call, 1));
}

void store_eval_first(struct store *store, unsigned shard, const struct script_call *call)
{
    node_eval_first(store_node(store, shard), call_new_script(call, call->key.bytes ? 1 : 0));
}

void store_delete_library(struct store *store, unsigned shard, struct slice name)
{
    if (store_shard_is_up(store, shard))
        node_delete_library(store_node(store, shard), name);
}

void store_close_gate(struct store *store, unsigned shard)
{
    node_set_gate(store_node(store, shard), false);
}

void store_open_gate(struct store *store, unsigned shard)
{
    node_set_gate(store_node(store, shard), true);
}

const char *store_shard_place(const struct store *store, unsigned shard)
{
    return node_place(store_node(store, shard));
}

const struct store_peer *store_peer(const struct store *store, unsigned shard)
{
    static const struct store_peer NONE;
    const struct node *node = shards_at(&store->shards, shard);
    return node ? node_peer(node) : &NONE;
}

/* Messages and changed keys */

void store_listen(struct store *store, struct slice channel)
{
    if (store->kind->listen)
        store->kind->listen(store->state, channel);
    else
        for (unsigned i = 0; i < store->shards.count; i++)
            node_listen(store_node(store, i), channel);
}

void store_track(struct store *store, struct slice prefix)
{
    if (store->kind->votes)
        return;
    shards_set_prefix(&store->shards, prefix);
    for (unsigned i = 0; i < store->shards.count; i++)
        if (store_shard_serves(store, i))
            shards_track(&store->shards, i);
}

void store_untrack(struct store *store)
{
    if (!store->kind->votes)
        shards_untrack(&store->shards);
}

/* Replicas */

void store_expect_replicas(struct store *store, struct slice key, int replicas)
{
    if (store->kind->expect_replicas)
        store->kind->expect_replicas(store->state, key, replicas);
    else if (!store->kind->votes)
        node_expect_replicas(store_node(store, FIRST_SHARD), key, replicas);
}

struct store_mark store_mark(const struct store *store)
{
    const struct node *node = shards_at(&store->shards, store->answering);
    return node && !store->kind->votes ? node_mark(node) : (struct store_mark){0};
}

struct store_mark store_mark_at(const struct store *store, unsigned shard)
{
    return node_mark(store_node(store, shard));
}

void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    node_confirm(store_node(store, mark.shard), mark, replicas, timeout_ms, done, context);
}

/* The condition of Redis */

bool store_shard_is_up(const struct store *store, unsigned shard)
{
    return shards_is_up(&store->shards, shard);
}

static struct shards_tally store_tally(const struct store *store)
{
    struct shards_tally tally = {0};
    for (unsigned i = 0; i < store->shards.count; i++) {
        bool serves = store_shard_serves(store, i);
        tally.serving += serves;
        tally.up += serves && store_shard_is_up(store, i);
    }
    return tally;
}

bool store_is_up(const struct store *store)
{
    struct shards_tally tally = store_tally(store);
    return store->kind->is_up ? store->kind->is_up(store->state, tally) : tally.up == tally.serving;
}

/* The reason of the first shard that is down; one is enough for a reader. */
const char *store_trouble(const struct store *store)
{
    bool is_up = store_is_up(store);
    for (unsigned i = 0; !is_up && i < store->shards.count; i++)
        if (store_shard_serves(store, i) && !store_shard_is_up(store, i))
            return node_trouble(store_node(store, i));
    return store->kind->trouble ? store->kind->trouble(store->state) : "";
}

const char *store_place(const struct store *store)
{
    const struct node *node = shards_at(&store->shards, store->up_last);
    return node ? node_place(node) : "a Redis Cluster";
}

const char *store_primary(const struct store *store)
{
    return store->kind->primary ? store->kind->primary(store->state, store_tally(store)) : "";
}

struct store_figures store_figures(const struct store *store)
{
    struct store_figures all = {0};
    for (unsigned i = 0; i < store->shards.count; i++) {
        if (!store->shards.nodes[i])
            continue;
        struct store_figures one = node_figures(store->shards.nodes[i]);
        all.calls += one.calls;
        all.connects += one.connects;
        all.switches += one.switches;
    }
    return all;
}

void store_require_primary_lease(struct store *store)
{
    if (!store->kind->require_primary_lease)
        return;
    store->requires_primary_lease = true;
    store->kind->require_primary_lease(store->state);
}

unsigned store_timeout_ms(const struct store *store)
{
    return (unsigned)store->url.timeout_ms;
}

int64_t store_primary_lease_ms(const struct store *store)
{
    return store->requires_primary_lease ? store->kind->primary_lease_ms : 0;
}
