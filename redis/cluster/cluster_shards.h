/* cluster_shards.h: all nodes of a Redis Cluster as parts of the store, and what is wanted of each.
 */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_SHARDS_H
#define BATON_REDIS_CLUSTER_CLUSTER_SHARDS_H

#include "redis/cluster/cluster_shard.h"

/* Each node has its number in the Cluster from when it was first heard of. What is wanted of all is
 * asked of those that serve slots, and of others once they do. Used on its loop's thread alone. */
struct cluster_shards;

/* `options` are for the part of each, but for its guide and its number. The cluster outlives it. */
struct cluster_shards *cluster_shards_open(struct cluster *cluster,
                                           const struct part_options *options);

/* Shards end one by one: `closed` is called when all have, and may be called before this returns.
 * Then cluster_shards_free. */
void cluster_shards_close(struct cluster_shards *shards, void (*closed)(void *context),
                          void *context);
void cluster_shards_free(struct cluster_shards *shards);

/* A node is new, and has the next number. False where it could not be made a part, as with a file
 * of certificates that cannot be read just now: then the next map tries again. */
bool cluster_shards_join(struct cluster_shards *shards, unsigned node, struct guide *guide);

/* Who serves what may be news. One that serves nothing any more is dismissed once nobody waits for
 * its answer. */
void cluster_shards_note_map(struct cluster_shards *shards);

/* How many numbers there are, and who has this one: NULL where it could not be made a part so far.
 */
unsigned cluster_shards_count(const struct cluster_shards *shards);
struct cluster_shard *cluster_shards_at(const struct cluster_shards *shards, unsigned node);

/* Whether it serves any slots; whether scripts can be sent to it. */
bool cluster_shards_serves(const struct cluster_shards *shards, unsigned node);
bool cluster_shards_is_up(const struct cluster_shards *shards, unsigned node);

/* Goes on from a node to the next one that serves slots and is up: round and round, so it may be
 * the same. False where there is none. */
bool cluster_shards_next(const struct cluster_shards *shards, unsigned *node);

/* Whether every slot is served by one that is up. */
bool cluster_shards_are_up(const struct cluster_shards *shards);

/* The first that serves slots and is not up; NULL: all are. */
const struct cluster_shard *cluster_shards_first_down(const struct cluster_shards *shards);

/* How many serve slots, and how many of them are up. */
struct cluster_shards_tally {
    unsigned serving;
    unsigned up;
};
struct cluster_shards_tally cluster_shards_tally(const struct cluster_shards *shards);

/* The sum over all. */
struct store_figures cluster_shards_figures(const struct cluster_shards *shards);

/* As store_track, store_untrack and store_expect_replicas. `key` is what each marker begins with.
 */
void cluster_shards_track(struct cluster_shards *shards, struct slice prefix);
void cluster_shards_untrack(struct cluster_shards *shards);
bool cluster_shards_tracks(const struct cluster_shards *shards);
void cluster_shards_expect_replicas(struct cluster_shards *shards, struct slice key, int replicas);

/* That node does not serve the key of its marker: it is given another one. */
void cluster_shards_mark_anew(struct cluster_shards *shards, unsigned node);

#endif
