/* cluster_shards.h: all nodes of a Redis Cluster as shards, and what the store wants
 * of each. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_SHARDS_H
#define BATON_REDIS_CLUSTER_CLUSTER_SHARDS_H

#include "redis/cluster/cluster_shard.h"

/* Each node keeps its number in the Cluster. What the store wants of all nodes goes to the
 * nodes that serve slots, and to another node once it serves slots. Used on its loop's thread
 * alone. */
struct cluster_shards;

/* `options` are for the shard of each node, except for its endpoint and its number. The cluster
 * outlives the shards. */
struct cluster_shards *cluster_shards_open(struct cluster *cluster,
                                           const struct node_options *options);

/* Shards end one by one. Calls `closed` when all have ended, perhaps before this returns. Then
 * call cluster_shards_free. */
void cluster_shards_close(struct cluster_shards *shards, void (*closed)(void *context),
                          void *context);
void cluster_shards_free(struct cluster_shards *shards);

/* Adds a new node, which has the next number. Returns false if its connection cannot be opened, for
 * instance if a certificate file cannot be read at the moment. The shards try again at the next
 * map. */
bool cluster_shards_join(struct cluster_shards *shards, unsigned node, struct endpoint *endpoint);

/* The map may have changed. Dismisses a node that serves nothing any more once no call waits for
 * its answer. */
void cluster_shards_note_map(struct cluster_shards *shards);

/* How many nodes have a number. The shard of a number: NULL if its connection could not be
 * opened so far. */
unsigned cluster_shards_count(const struct cluster_shards *shards);
struct cluster_shard *cluster_shards_at(const struct cluster_shards *shards, unsigned node);

/* Whether the node serves any slots. Whether batond can send scripts to it. */
bool cluster_shards_serves(const struct cluster_shards *shards, unsigned node);
bool cluster_shards_is_up(const struct cluster_shards *shards, unsigned node);

/* Goes from `*node` to the next node that serves slots and is up. It goes round, so it may end at
 * the same node. Returns false if no node serves slots and is up. */
bool cluster_shards_next(const struct cluster_shards *shards, unsigned *node);

/* Whether a node that is up serves every slot. */
bool cluster_shards_are_up(const struct cluster_shards *shards);

/* The first shard that serves slots and is not up; NULL: all are up. */
const struct cluster_shard *cluster_shards_first_down(const struct cluster_shards *shards);

/* How many nodes serve slots, and how many of these are up. */
struct cluster_shards_tally {
    unsigned serving;
    unsigned up;
};
struct cluster_shards_tally cluster_shards_tally(const struct cluster_shards *shards);

/* The sum over all shards. */
struct store_figures cluster_shards_figures(const struct cluster_shards *shards);

/* See store_track, store_untrack and store_expect_replicas. Each marker begins with `key`. */
void cluster_shards_track(struct cluster_shards *shards, struct slice prefix);
void cluster_shards_untrack(struct cluster_shards *shards);
bool cluster_shards_tracks(const struct cluster_shards *shards);
void cluster_shards_expect_replicas(struct cluster_shards *shards, struct slice key, int replicas);

/* Gives the node another marker. Call this when the node does not serve its marker's key. */
void cluster_shards_mark_anew(struct cluster_shards *shards, unsigned node);

#endif
