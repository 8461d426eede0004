#include "redis/cluster/cluster_shards.h"

#include "base/memory.h"

#include <string.h>

struct cluster_shards {
    struct cluster *cluster;
    struct node_options options;
    struct cluster_shard *all[CLUSTER_NODES_MOST]; /* by node; NULL: not opened so far */
    unsigned count;
    bool tracks;
    struct slice prefix; /* its bytes belong to the shards */
    char *marker;        /* without its tag; NULL before cluster_shards_expect_replicas */
    int expected;
    int open; /* open shards, plus 1 until cluster_shards_close */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* State */

unsigned cluster_shards_count(const struct cluster_shards *shards)
{
    return shards->count;
}

struct cluster_shard *cluster_shards_at(const struct cluster_shards *shards, unsigned node)
{
    return node < shards->count ? shards->all[node] : NULL;
}

bool cluster_shards_serves(const struct cluster_shards *shards, unsigned node)
{
    return cluster_shards_at(shards, node) && cluster_slots_of(shards->cluster, node) > 0;
}

bool cluster_shards_is_up(const struct cluster_shards *shards, unsigned node)
{
    const struct cluster_shard *shard = cluster_shards_at(shards, node);
    return shard && !shards->closing && node_serves(cluster_shard_node(shard));
}

bool cluster_shards_next(const struct cluster_shards *shards, unsigned *node)
{
    for (unsigned i = 1; i <= shards->count; i++) {
        unsigned next = (*node + i) % shards->count;
        if (!cluster_shards_is_up(shards, next) || !cluster_shards_serves(shards, next))
            continue;
        *node = next;
        return true;
    }
    return false;
}

const struct cluster_shard *cluster_shards_first_down(const struct cluster_shards *shards)
{
    for (unsigned node = 0; node < shards->count; node++)
        if (cluster_shards_serves(shards, node) && !cluster_shards_is_up(shards, node))
            return shards->all[node];
    return NULL;
}

bool cluster_shards_are_up(const struct cluster_shards *shards)
{
    return cluster_uncovered(shards->cluster) == 0 && !cluster_shards_first_down(shards);
}

struct cluster_shards_tally cluster_shards_tally(const struct cluster_shards *shards)
{
    struct cluster_shards_tally tally = {0};
    for (unsigned node = 0; node < shards->count; node++) {
        tally.serving += cluster_shards_serves(shards, node);
        tally.up += cluster_shards_serves(shards, node) && cluster_shards_is_up(shards, node);
    }
    return tally;
}

struct store_figures cluster_shards_figures(const struct cluster_shards *shards)
{
    struct store_figures all = {0};
    for (unsigned node = 0; node < shards->count; node++) {
        if (!shards->all[node])
            continue;
        struct store_figures one = node_figures(cluster_shard_node(shards->all[node]));
        all.calls += one.calls;
        all.connects += one.connects;
        all.switches += one.switches;
    }
    return all;
}

/* What the store wants of each shard */

static void track(const struct cluster_shards *shards, unsigned node)
{
    cluster_shard_track(shards->all[node], shards->prefix);
}

void cluster_shards_track(struct cluster_shards *shards, struct slice prefix)
{
    char *bytes = memory_checked(malloc(prefix.length + 1));
    memcpy(bytes, prefix.bytes, prefix.length);
    free((char *)shards->prefix.bytes);
    shards->prefix = (struct slice){bytes, prefix.length};
    shards->tracks = true;
    for (unsigned node = 0; node < shards->count; node++)
        if (cluster_shards_serves(shards, node))
            track(shards, node);
}

void cluster_shards_untrack(struct cluster_shards *shards)
{
    shards->tracks = false;
    for (unsigned node = 0; !shards->closing && node < shards->count; node++)
        if (shards->all[node])
            cluster_shard_untrack(shards->all[node]);
}

bool cluster_shards_tracks(const struct cluster_shards *shards)
{
    return shards->tracks;
}

void cluster_shards_mark_anew(struct cluster_shards *shards, unsigned node)
{
    cluster_shard_mark(shards->all[node], shards->marker, shards->expected);
}

void cluster_shards_expect_replicas(struct cluster_shards *shards, struct slice key, int replicas)
{
    shards->marker = memory_checked(strndup(key.bytes, key.length));
    shards->expected = replicas;
    for (unsigned node = 0; node < shards->count; node++)
        if (cluster_shards_serves(shards, node))
            cluster_shards_mark_anew(shards, node);
}

/* Joining, and leaving */

static bool open_shard(struct cluster_shards *shards, unsigned node, struct endpoint *endpoint)
{
    struct node_options options = shards->options;
    options.endpoint = endpoint;
    options.number = node;
    bool is_open = cluster_shard_open(&shards->all[node], shards->cluster, &options) == 0;
    shards->open += is_open;
    return is_open;
}

bool cluster_shards_join(struct cluster_shards *shards, unsigned node, struct endpoint *endpoint)
{
    shards->count = node + 1;
    return shards->closing || open_shard(shards, node, endpoint);
}

static void update_shard(struct cluster_shards *shards, unsigned node)
{
    const struct cluster_shard *shard = shards->all[node];
    if (!cluster_shards_serves(shards, node)) {
        if (node_is_idle(cluster_shard_node(shard)) && !cluster_is_fresh(shards->cluster, node))
            cluster_dismiss(shards->cluster, node);
        return;
    }
    if (shards->tracks && !cluster_shard_tracks(shard))
        track(shards, node);
    if (shards->marker && !cluster_shard_is_marked(shard))
        cluster_shards_mark_anew(shards, node);
}

void cluster_shards_note_map(struct cluster_shards *shards)
{
    for (unsigned node = 0; node < shards->count; node++)
        if (shards->all[node] || open_shard(shards, node, cluster_endpoint(shards->cluster, node)))
            update_shard(shards, node);
}

/* The beginning and the end */

struct cluster_shards *cluster_shards_open(struct cluster *cluster,
                                           const struct node_options *options)
{
    struct cluster_shards *shards = memory_checked(calloc(1, sizeof *shards));
    shards->cluster = cluster;
    shards->options = *options;
    shards->open = 1;
    return shards;
}

static void cluster_shards_on_one_closed(void *context)
{
    struct cluster_shards *shards = context;
    if (--shards->open == 0)
        shards->closed(shards->closed_context);
}

void cluster_shards_close(struct cluster_shards *shards, void (*closed)(void *context),
                          void *context)
{
    shards->closing = true;
    shards->closed = closed;
    shards->closed_context = context;
    for (unsigned node = 0; node < shards->count; node++)
        if (shards->all[node])
            cluster_shard_close(shards->all[node], cluster_shards_on_one_closed, shards);
    cluster_shards_on_one_closed(shards);
}

void cluster_shards_free(struct cluster_shards *shards)
{
    free((char *)shards->prefix.bytes);
    free(shards->marker);
    free(shards);
}
