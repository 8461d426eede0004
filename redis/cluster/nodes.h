/* nodes.h: a store whose parts are the nodes of a Redis Cluster. */
#ifndef BATON_REDIS_NODES_H
#define BATON_REDIS_NODES_H

#include "redis/store.h"

/* Who serves what, redis/cluster/cluster.h finds out; where a call goes, redis/cluster/router.h.
 * What each node has beside that is in redis/cluster/members.h, and what all have together in
 * redis/cluster/cluster_inbox.h. */
struct nodes;

/* As their namesakes of the store. `url`, of the kind REDIS_CLUSTER, outlives it. */
int nodes_open(struct nodes **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events);
void nodes_require_sight(struct nodes *nodes);
void nodes_close(struct nodes *nodes, void (*closed)(void *context), void *context);

void nodes_eval(struct nodes *nodes, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context);
void nodes_eval_at(struct nodes *nodes, unsigned part, const struct script *script,
                   const struct slice *arguments, size_t argument_count, store_done *done,
                   void *context);

unsigned nodes_part(const struct nodes *nodes, struct slice key);
unsigned nodes_part_count(const struct nodes *nodes);
struct link *nodes_link(const struct nodes *nodes, unsigned part);
void nodes_tag(struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE]);
void nodes_first_tag(const struct nodes *nodes, unsigned part, char tag[STORE_TAG_SIZE]);
bool nodes_seek(const struct nodes *nodes, unsigned *position, unsigned *ret_part);
bool nodes_part_serves(const struct nodes *nodes, unsigned part);

int nodes_listen(struct nodes *nodes, struct slice channel);
void nodes_track(struct nodes *nodes, struct slice prefix);
void nodes_untrack(struct nodes *nodes);

struct store_mark nodes_mark(const struct nodes *nodes);
void nodes_expect_replicas(struct nodes *nodes, struct slice key, int replicas);
void nodes_confirm(struct nodes *nodes, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context);

bool nodes_is_up(const struct nodes *nodes);
bool nodes_part_is_up(const struct nodes *nodes, unsigned part);
const char *nodes_trouble(struct nodes *nodes);
const char *nodes_place(const struct nodes *nodes);

/* How much of it is there, for people. */
const char *nodes_summary(struct nodes *nodes);
struct store_figures nodes_figures(const struct nodes *nodes);

#endif
