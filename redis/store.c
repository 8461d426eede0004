#include "redis/store.h"

#include "redis/cluster/cluster_store.h"
#include "redis/node/single.h"
#include "redis/quorum/quorum.h"
#include "redis/sentinel/transport.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SHARD = 0 };

struct store {
    const struct transport *transport;
    void *state; /* the transport's */
    struct redis_url url;
    bool requires_primary_lease;
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

static const struct transport *store_transport(const struct redis_url *url)
{
    static const struct transport *const by_kind[] = {
        [REDIS_SERVER] = &single_transport,
        [REDIS_WATCHED] = &sentinel_transport,
        [REDIS_CLUSTER] = &cluster_transport,
        [REDIS_QUORUM] = &quorum_transport,
    };
    return by_kind[url->kind];
}

/* The beginning and the end */

int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    return store_transport(url)->preflight(url, timeout_ms, failure);
}

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->transport = store_transport(url);
    int result = redis_url_copy(url, &store->url);
    if (result == 0)
        result = store->transport->open(&store->state, loop, &store->url, events);
    if (result < 0) {
        redis_url_free(&store->url);
        free(store);
        return result;
    }
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

bool store_is_closing(const struct store *store)
{
    return store->closing;
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    if (!store)
        return;
    store->closing = true;
    store->closed = closed;
    store->closed_context = context;
    store->transport->close(store->state, store_end, store);
}

/* Shards and keys */

unsigned store_shard(const struct store *store, struct slice key)
{
    return store->transport->shard ? store->transport->shard(store->state, key) : FIRST_SHARD;
}

unsigned store_shard_count(const struct store *store)
{
    return store->transport->shard_count(store->state);
}

bool store_shard_serves(const struct store *store, unsigned shard)
{
    return !store->transport->shard_serves || store->transport->shard_serves(store->state, shard);
}

bool store_seek_shard(const struct store *store, unsigned *position, unsigned *ret_shard)
{
    if (store->transport->seek_shard)
        return store->transport->seek_shard(store->state, position, ret_shard);
    *ret_shard = FIRST_SHARD;
    return *position == 0;
}

void store_tag(struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->transport->tag)
        store->transport->tag(store->state, shard, tag);
}

void store_first_tag(const struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->transport->first_tag)
        store->transport->first_tag(store->state, shard, tag);
}

/* Calls */

void store_eval_at(struct store *store, unsigned shard, const struct script *script,
                   struct slice key, const struct slice *arguments, size_t argument_count,
                   store_done *done, void *context)
{
    store->transport->eval_at(store->state, shard, script, key, arguments, argument_count, done,
                              context);
}

void store_eval(struct store *store, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context)
{
    if (store->transport->eval)
        store->transport->eval(store->state, script, key, arguments, argument_count, done, context);
    else
        store_eval_at(store, FIRST_SHARD, script, key, arguments, argument_count, done, context);
}

static struct node *store_node(const struct store *store, unsigned shard)
{
    return store->transport->node(store->state, shard);
}

void store_eval_first(struct store *store, unsigned shard, const struct script *script,
                      struct slice key, const struct slice *arguments, size_t argument_count,
                      store_done *done, void *context)
{
    node_eval_first(
        store_node(store, shard),
        call_new_script(script, key, key.bytes ? 1 : 0, arguments, argument_count, done, context));
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
    return node_peer(store_node(store, shard));
}

/* Messages and changed keys */

int store_listen(struct store *store, struct slice channel)
{
    return store->transport->listen(store->state, channel);
}

void store_track(struct store *store, struct slice prefix)
{
    if (store->transport->track)
        store->transport->track(store->state, prefix);
}

void store_untrack(struct store *store)
{
    if (store->transport->untrack)
        store->transport->untrack(store->state);
}

unsigned store_telling(const struct store *store)
{
    return store->transport->telling ? store->transport->telling(store->state) : FIRST_SHARD;
}

/* Replicas */

void store_expect_replicas(struct store *store, struct slice key, int replicas)
{
    if (store->transport->expect_replicas)
        store->transport->expect_replicas(store->state, key, replicas);
}

struct store_mark store_mark(const struct store *store)
{
    return store->transport->mark ? store->transport->mark(store->state) : (struct store_mark){0};
}

struct store_mark store_mark_at(const struct store *store, unsigned shard)
{
    struct store_mark mark = node_mark(store_node(store, shard));
    mark.shard = shard;
    return mark;
}

void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    store->transport->confirm(store->state, mark, replicas, timeout_ms, done, context);
}

/* The condition of Redis */

bool store_shard_is_up(const struct store *store, unsigned shard)
{
    return store->transport->shard_is_up(store->state, shard);
}

bool store_is_up(const struct store *store)
{
    return store->transport->is_up(store->state);
}

const char *store_trouble(const struct store *store)
{
    return store->transport->trouble(store->state);
}

const char *store_place(const struct store *store)
{
    return store->transport->place(store->state);
}

const char *store_primary(const struct store *store)
{
    return store->transport->primary ? store->transport->primary(store->state) : "";
}

struct store_figures store_figures(const struct store *store)
{
    return store->transport->figures(store->state);
}

void store_require_primary_lease(struct store *store)
{
    if (!store->transport->require_primary_lease)
        return;
    store->requires_primary_lease = true;
    store->transport->require_primary_lease(store->state);
}

unsigned store_timeout_ms(const struct store *store)
{
    return (unsigned)store->url.timeout_ms;
}

int64_t store_primary_lease_ms(const struct store *store)
{
    return store->requires_primary_lease ? store->transport->primary_lease_ms : 0;
}
