/* node.h: one Redis that runs scripts: its connection, gate, library and marks, its inbox and the
 * tracking of its keys, and confirmations by its replicas. */
#ifndef BATON_REDIS_NODE_NODE_H
#define BATON_REDIS_NODE_NODE_H

#include "redis/types/confirm.h"
#include "redis/types/events.h"
#include "redis/types/peer.h"
#include "redis/wire/call.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

/* Used on its loop's thread alone. */
struct node;

/* What a node reports to its owner. The rest goes straight to the owner of the store, by struct
 * store_events: `warning`, `answered`, `listening`, `message`, `invalidated`, `result` and `stamp`.
 * `number` is the node's. Only `up` and `down` must not be NULL. */
struct node_events {
    void *context;
    void (*up)(void *context, unsigned number);
    /* `code` is -EPROTO if a person has to act, else -EAGAIN. */
    void (*down)(void *context, unsigned number, int code, const char *reason);
    /* A script has answered, if only that it came too late; its `done` runs next. */
    void (*replied)(void *context, unsigned number);
    /* Redis has answered that another node, or no node now, serves the call's slot: it did nothing.
     * The owner of the node owns the call from now on. NULL if no call has a routing. */
    void (*redirected)(void *context, struct call *call, const char *error);
    /* This node does not serve the marker's key; the owner sets another key. NULL if it serves
     * every key. */
    void (*marker_moved)(void *context, unsigned number);
};

struct node_options {
    uv_loop_t *loop;
    const struct redis_url *url; /* outlives the node, as does `store_events` */
    struct endpoint *endpoint;   /* as in session.h */
    unsigned number;
    struct node_events events;
    const struct store_events *store_events;
};

struct node *node_open(const struct node_options *options);

/* Calls `closed` when the memory is gone. */
void node_close(struct node *node, void (*closed)(void *context), void *context);

/* Sends a script call, made now or redirected by another node. */
void node_eval(struct node *node, struct call *call);

/* As store_close_gate and store_open_gate; the gate of a new connection is open. node_eval_first
 * passes a closed gate. */
void node_set_gate(struct node *node, bool is_open);
void node_eval_first(struct node *node, struct call *call);

bool node_is_up(const struct node *node);

/* Whether the node is up, its gate is open, and the endpoint's time (endpoint_limit) is not
 * over. */
bool node_serves(const struct node *node);

/* Whether no script is under way. */
bool node_is_idle(const struct node *node);

/* Makes another connection after Redis has answered the calls under way. `reason` says why. */
void node_retire(struct node *node, const char *reason);

/* While the node is up: as store_delete_library. */
void node_delete_library(struct node *node, struct slice name);

/* As store_mark. */
struct store_mark node_mark(const struct node *node);

/* As store_peer. */
const struct store_peer *node_peer(const struct node *node);

/* Why the node is down, or why its gate is still closed, as far as Redis has said so; "" if there
 * is no trouble. */
const char *node_trouble(const struct node *node);

/* The server to which the node is connected, or tries to connect, for messages. */
const char *node_place(const struct node *node);
struct store_figures node_figures(const struct node *node);

/* As store_listen. Without a channel the inbox gets tracked keys alone, and no warning reports its
 * loss. A second call does nothing. */
void node_listen(struct node *node, struct slice channel);

/* As store_track and store_untrack. Changes come once the node listens. */
void node_track(struct node *node, struct slice prefix);
void node_untrack(struct node *node);
bool node_tracks(const struct node *node);

/* As store_expect_replicas. Call this again to change the key. */
void node_expect_replicas(struct node *node, struct slice key, int replicas);

/* As store_confirm. */
void node_confirm(struct node *node, struct store_mark mark, int replicas, int64_t timeout_ms,
                  store_confirmed *done, void *context);

/* For the confirmers (redis/node/confirmer.h): the key of the marker; `warning`, where `context` is
 * the node; and `marker_moved`, unless the owner of the node leaves it out. */
struct slice node_marker(const struct node *node);
void node_warn(void *context, const char *text);
void node_marker_moved(struct node *node);

#endif
