/* shards.h: the nodes of a store by number: each is a shard. */
#ifndef BATON_REDIS_NODE_SHARDS_H
#define BATON_REDIS_NODE_SHARDS_H

#include "redis/node/node.h"

enum { SHARDS_MOST = 1024 };

/* Embedded in the store, which sets the fields down to `keys_apart`. */
struct shards {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct store_events store_events; /* of the owner of the store */
    struct node_events node_events;   /* of each node */
    bool keys_apart; /* messages do not come by the nodes: to track its keys, each has an inbox */

    struct node *nodes[SHARDS_MOST]; /* NULL: added while the shards close */
    unsigned count;
    struct slice prefix; /* owned; absent while no keys are tracked */
    bool closing;
    unsigned open; /* nodes, plus 1 until shards_close */
    void (*closed)(void *context);
    void *closed_context;
};

/* Opens a node that follows `endpoint`, as in session.h; `url` outlives it. While the shards close,
 * it only counts the node. */
void shards_add(struct shards *shards, unsigned number, const struct redis_url *url,
                struct endpoint *endpoint);

/* Nodes end one by one. Calls `closed` when all have ended, perhaps before this returns. */
void shards_close(struct shards *shards, void (*closed)(void *context), void *context);

/* NULL if there is no such node. */
struct node *shards_at(const struct shards *shards, unsigned number);

/* Whether batond can send scripts to the node. */
bool shards_is_up(const struct shards *shards, unsigned number);

/* Makes Redis report changes of the tracked keys of one node, or of no keys any more. */
void shards_track(struct shards *shards, unsigned number);
void shards_set_prefix(struct shards *shards, struct slice prefix);
void shards_untrack(struct shards *shards);

/* Reports to the owner of the store; `context` is the shards. */
void shards_warn(void *context, const char *text);

#endif
