/* link.h: runs scripts on one Redis, over a connection that it makes again after each loss. */
#ifndef BATON_REDIS_NODE_LINK_H
#define BATON_REDIS_NODE_LINK_H

#include "redis/types/confirm.h"
#include "redis/types/events.h"
#include "redis/types/peer.h"
#include "redis/types/result.h"
#include "redis/types/script.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

struct link;
struct call;

/* As in struct store_events. `code` is -EPROTO if a person has to act, else -EAGAIN. */
struct link_events {
    void *context;
    void (*up)(void *context);
    void (*down)(void *context, int code, const char *reason);
    void (*warning)(void *context, const char *text);
    /* Redis has answered a link_track: `error` is NULL or its error. Does not come if the link is
     * lost first. */
    void (*tracked)(void *context, const char *error);
    /* A script has run; its reply came `nanoseconds` after the script was sent. */
    void (*answered)(void *context, uint64_t nanoseconds);
    /* A script has answered that it came too late; its `done` runs next. May be NULL. */
    void (*late)(void *context);
    /* As in struct store_events; may be NULL. */
    void (*stamp)(void *context, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
    /* Redis has answered that another node, or no node now, serves the call's slot: it did nothing.
     * The owner of the link owns the call from now on. Only for calls with a routing; may be
     * NULL. */
    void (*redirected)(void *context, struct call *call, const char *error);
};

/* These do what their namesakes in store.h do; `endpoint` is as in session.h. `up`, `down`,
 * `warning` and `tracked` must not be NULL; nor must `answered`, if the link runs scripts. */
int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url,
              struct endpoint *endpoint, const struct link_events *events, struct failure *failure);

void link_close(struct link *link, void (*closed)(void *context), void *context);

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

/* As store_close_gate and store_open_gate; the gate of a new connection is open. link_eval_first
 * passes a closed gate. */
void link_set_gate(struct link *link, bool is_open);
void link_eval_first(struct link *link, const struct script *script, struct slice key,
                     const struct slice *arguments, size_t argument_count, store_done *done,
                     void *context);

/* Whether the link is up, its gate is open, and the endpoint's time (endpoint_limit) is not
 * over. */
bool link_serves(const struct link *link);

/* As link_eval, for a call that exists already, such as a redirected one. */
void link_send_call(struct link *link, struct call *call);

/* Whether no script is under way. */
bool link_is_idle(const struct link *link);

/* While the link is up: starts or ends CLIENT TRACKING of the keys that begin with `prefix`. Redis
 * reports changes to the connection whose id is `client_id`. */
void link_track(struct link *link, int64_t client_id, struct slice prefix);
void link_untrack(struct link *link);

/* While the link is up: as store_delete_library. */
void link_delete_library(struct link *link, struct slice name);

/* As store_mark, without the shard. */
struct store_mark link_mark(const struct link *link);

/* As store_peer. */
const struct store_peer *link_peer(const struct link *link);

/* Makes another connection after Redis has answered the calls under way. `reason` says why. */
void link_retire(struct link *link, const char *reason);

bool link_is_up(const struct link *link);

/* Why the link is down, or why its gate is still closed, as far as Redis has said so; "" if there
 * is no trouble. */
const char *link_trouble(const struct link *link);

/* The server to which the link is connected, or tries to connect, for messages. */
const char *link_place(const struct link *link);
struct store_figures link_figures(const struct link *link);

#endif
