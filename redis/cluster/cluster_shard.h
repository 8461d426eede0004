/* cluster_shard.h: a node of a Redis Cluster as a shard: the inbox for its changed
 * keys, and the slot by which batond asks its replicas. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_SHARD_H
#define BATON_REDIS_CLUSTER_CLUSTER_SHARD_H

#include "redis/cluster/cluster.h"
#include "redis/node/node.h"

/* A shard begins when a node of the Cluster first names its node, and lives until the store closes.
 * It has a connection while its node serves slots. Once a caller asks for changed keys, it has a
 * second connection for them, because each node reports only its own keys. Used on its loop's
 * thread alone. */
struct cluster_shard;

/* The shard has the number of the node. `touched` may also report keys that are no longer
 * tracked. The cluster outlives the shard. Returns 0 or a negative errno. */
int cluster_shard_open(struct cluster_shard **ret, const struct cluster *cluster,
                       const struct node_options *options);

/* Calls `closed` when the memory is gone. */
void cluster_shard_close(struct cluster_shard *shard, void (*closed)(void *context), void *context);

struct node *cluster_shard_node(const struct cluster_shard *shard);

/* See store_track and store_untrack. */
void cluster_shard_track(struct cluster_shard *shard, struct slice prefix);
void cluster_shard_untrack(struct cluster_shard *shard);
bool cluster_shard_tracks(const struct cluster_shard *shard);

/* See store_expect_replicas. The key begins with `marker` and lies in a slot that the node
 * serves, each time in another one. Does nothing if the node serves no slot. */
void cluster_shard_mark(struct cluster_shard *shard, const char *marker, int replicas);

/* Whether there is a marker, and the node still serves its slot. */
bool cluster_shard_is_marked(const struct cluster_shard *shard);

#endif
