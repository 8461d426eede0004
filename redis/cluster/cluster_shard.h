/* cluster_shard.h: a node of a Redis Cluster as a part of the store: who hears of its changed keys,
 * and by which of its slots its replicas are asked. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_SHARD_H
#define BATON_REDIS_CLUSTER_CLUSTER_SHARD_H

#include "redis/cluster/cluster.h"
#include "redis/primary/part.h"

/* From when the node was first heard of: a part, with a connection while the node serves slots, and
 * one more that hears of changed keys from when somebody asks for them, for Redis tells of its own
 * keys only. Used on its loop's thread alone. */
struct cluster_shard;

/* The number of the part is that of the node; `touched` is told of keys that were asked for
 * earlier, too. The cluster outlives the shard. Returns 0 or a negative errno. */
int cluster_shard_open(struct cluster_shard **ret, const struct cluster *cluster,
                       const struct part_options *options);

/* `closed` when the memory is gone. */
void cluster_shard_close(struct cluster_shard *shard, void (*closed)(void *context), void *context);

struct part *cluster_shard_part(const struct cluster_shard *shard);
struct link *cluster_shard_link(const struct cluster_shard *shard);

/* As store_track and store_untrack. */
void cluster_shard_track(struct cluster_shard *shard, struct slice prefix);
void cluster_shard_untrack(struct cluster_shard *shard);
bool cluster_shard_tracks(const struct cluster_shard *shard);

/* As store_expect_replicas: by a key that begins with `marker`, in a slot that the node serves, and
 * each time in another one. Nothing where it serves none. */
void cluster_shard_mark(struct cluster_shard *shard, const char *marker, int replicas);

/* Whether that was done, and the node still serves the slot. */
bool cluster_shard_is_marked(const struct cluster_shard *shard);

#endif
