/* cluster_store.h: a store whose parts are the nodes of a Redis Cluster. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_STORE_H
#define BATON_REDIS_CLUSTER_CLUSTER_STORE_H

#include "redis/store.h"

/* Who serves what, redis/cluster/cluster.h finds out; where a call goes, redis/cluster/router.h.
 * What each node has beside that is in redis/cluster/cluster_shards.h, and what all have together
 * in redis/cluster/cluster_inbox.h. */
struct cluster_store;

/* As their namesakes of the store. `url`, of the kind REDIS_CLUSTER, outlives it. */
int cluster_store_open(struct cluster_store **ret, uv_loop_t *loop, const struct redis_url *url,
                       const struct store_events *events);
void cluster_store_require_primary_lease(struct cluster_store *store);
void cluster_store_close(struct cluster_store *store, void (*closed)(void *context), void *context);

void cluster_store_eval(struct cluster_store *store, const struct script *script, struct slice key,
                        const struct slice *arguments, size_t argument_count, store_done *done,
                        void *context);
void cluster_store_eval_at(struct cluster_store *store, unsigned part, const struct script *script,
                           const struct slice *arguments, size_t argument_count, store_done *done,
                           void *context);

unsigned cluster_store_part(const struct cluster_store *store, struct slice key);
unsigned cluster_store_part_count(const struct cluster_store *store);
struct link *cluster_store_link(const struct cluster_store *store, unsigned part);
void cluster_store_tag(struct cluster_store *store, unsigned part, char tag[STORE_TAG_SIZE]);
void cluster_store_first_tag(const struct cluster_store *store, unsigned part,
                             char tag[STORE_TAG_SIZE]);
bool cluster_store_seek(const struct cluster_store *store, unsigned *position, unsigned *ret_part);
bool cluster_store_part_serves(const struct cluster_store *store, unsigned part);

int cluster_store_listen(struct cluster_store *store, struct slice channel);
void cluster_store_track(struct cluster_store *store, struct slice prefix);
void cluster_store_untrack(struct cluster_store *store);

struct store_mark cluster_store_mark(const struct cluster_store *store);
void cluster_store_expect_replicas(struct cluster_store *store, struct slice key, int replicas);
void cluster_store_confirm(struct cluster_store *store, struct store_mark mark, int replicas,
                           int64_t timeout_ms, store_confirmed *done, void *context);

bool cluster_store_is_up(const struct cluster_store *store);
bool cluster_store_part_is_up(const struct cluster_store *store, unsigned part);
const char *cluster_store_trouble(struct cluster_store *store);
const char *cluster_store_place(const struct cluster_store *store);

/* How much of it is there, for people. */
const char *cluster_store_summary(struct cluster_store *store);
struct store_figures cluster_store_figures(const struct cluster_store *store);

#endif
