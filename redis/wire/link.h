/* link.h: runs scripts on one Redis, over a connection that comes back by itself. */
#ifndef BATON_REDIS_WIRE_LINK_H
#define BATON_REDIS_WIRE_LINK_H

#include "redis/types/confirm.h"
#include "redis/types/events.h"
#include "redis/types/peer.h"
#include "redis/types/result.h"
#include "redis/types/script.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

struct link;
struct call;

/* As struct store_events. `code` is -EPROTO if trying again will not help unless somebody acts,
 * else -EAGAIN. */
struct link_events {
    void *context;
    void (*up)(void *context);
    void (*down)(void *context, int code, const char *reason);
    void (*warning)(void *context, const char *text);
    /* Redis has answered a link_track: with an error, or NULL. Does not come if the link is lost
     * first. */
    void (*tracked)(void *context, const char *error);
    /* A script has run, so long after it was sent. */
    void (*answered)(void *context, uint64_t nanoseconds);
    /* A script has answered that it came too late; its `done` runs next. May be NULL. */
    void (*late)(void *context);
    /* As in struct store_events; may be NULL. */
    void (*stamp)(void *context, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
    /* Redis has answered that another node serves the call's slot, or none now: it did nothing. The
     * owner of the link owns the call from now on. Only for calls with a routing; may be NULL. */
    void (*redirected)(void *context, struct call *call, const char *error);
};

/* All as their namesakes in store.h, `endpoint` as in session.h; no event may be NULL, but
 * `answered` of who runs no script. */
int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url,
              struct endpoint *endpoint, const struct link_events *events, struct failure *failure);

void link_close(struct link *link, void (*closed)(void *context), void *context);

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

/* As store_close_gate and store_open_gate; the gate of a new connection is open. A script that is
 * `first` passes it when closed. */
void link_set_gate(struct link *link, bool is_open);
void link_eval_first(struct link *link, const struct script *script, struct slice key,
                     const struct slice *arguments, size_t argument_count, store_done *done,
                     void *context);

/* Whether the link is up and its gate is open. */
bool link_serves(const struct link *link);

/* As link_eval, for a call that is made already or has come back by `redirected`. */
void link_send_call(struct link *link, struct call *call);

/* Whether no script is under way. */
bool link_is_idle(const struct link *link);

/* While the link is up: starts or ends CLIENT TRACKING of the keys that begin with `prefix`. Redis
 * sends the changes to the connection that it calls `client_id`. */
void link_track(struct link *link, int64_t client_id, struct slice prefix);
void link_untrack(struct link *link);

/* As store_mark, without the shard. */
struct store_mark link_mark(const struct link *link);

/* As store_peer. */
const struct store_peer *link_peer(const struct link *link);

/* Makes another connection, after the calls under way have been answered. `reason` says why. */
void link_retire(struct link *link, const char *reason);

bool link_is_up(const struct link *link);
const char *link_trouble(const struct link *link);

/* What the link is connected to, or tries to connect to, for messages. */
const char *link_place(const struct link *link);
struct store_figures link_figures(const struct link *link);

#endif
