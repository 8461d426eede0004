/* single.h: the transport to one server: its node, and the inbox for messages. */
#ifndef BATON_REDIS_NODE_SINGLE_H
#define BATON_REDIS_NODE_SINGLE_H

#include "redis/node/inbox.h"
#include "redis/node/node.h"
#include "redis/types/transport.h"

/* For redis://, rediss:// and unix://. */
extern const struct transport single_transport;

/* Embedded in its owner, which may be another transport. Used on its loop's thread alone. */
struct single {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct endpoint *endpoint; /* NULL: the URL names the server */
    struct store_events events;
    /* All handles are closed: the owner frees the memory, and calls `closed`. */
    void (*finish)(struct single *single);
    struct node *node;
    struct inbox *inbox;     /* NULL before single_listen */
    bool inbox_loss_is_told; /* since the inbox last listened */
    bool tracks;
    int open; /* how many of the node and the inbox are open */
    void (*closed)(void *context);
    void *closed_context;
};

/* The owner has zeroed it and set the fields down to `finish`. Returns 0 or a negative errno; after
 * an error nothing is open. */
int single_start(struct single *single);

/* Calls the `warning` of the store's owner, if it is set. `context` is a struct single. */
void single_warn(void *context, const char *text);

/* The operations of a transport whose state begins with a struct single. */
void single_close(void *state, void (*closed)(void *context), void *context);
void single_eval_at(void *state, unsigned shard, const struct script *script, struct slice key,
                    const struct slice *arguments, size_t argument_count, store_done *done,
                    void *context);
int single_listen(void *state, struct slice channel);
struct node *single_node(const void *state, unsigned shard);
unsigned single_shard_count(const void *state);
bool single_shard_is_up(const void *state, unsigned shard);
bool single_is_up(const void *state);
const char *single_trouble(void *state);
const char *single_place(const void *state);
struct store_figures single_figures(const void *state);
void single_track(void *state, struct slice prefix);
void single_untrack(void *state);
void single_expect_replicas(void *state, struct slice key, int replicas);
struct store_mark single_mark(const void *state);
void single_confirm(void *state, struct store_mark mark, int replicas, int64_t timeout_ms,
                    store_confirmed *done, void *context);

/* Their rows in the table of such a transport. */
#define SINGLE_OPERATIONS                                                                          \
    .close = single_close, .eval_at = single_eval_at, .listen = single_listen,                     \
    .node = single_node, .shard_count = single_shard_count, .shard_is_up = single_shard_is_up,     \
    .is_up = single_is_up, .trouble = single_trouble, .place = single_place,                       \
    .figures = single_figures, .track = single_track, .untrack = single_untrack,                   \
    .expect_replicas = single_expect_replicas, .mark = single_mark, .confirm = single_confirm

#endif
