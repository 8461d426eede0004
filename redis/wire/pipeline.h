/* pipeline.h: commands on their way to one Redis, and what becomes of each: Redis answers it, it is
 * lost with the connection, or it is not sent at all. */
#ifndef BATON_REDIS_WIRE_PIPELINE_H
#define BATON_REDIS_WIRE_PIPELINE_H

#include "redis/wire/call.h"
#include "redis/wire/session.h"

/* The pipeline reconnects by itself. Replies come in the order of the calls. If a call has no reply
 * by its deadline, and Redis has not answered any call for STORE_DEADLINE_MS either, the pipeline
 * gives up the connection, and every call on it ends. Used on its loop's thread alone. */
struct pipeline;

/* The loop calls these. Each may call the pipeline, pipeline_close included. */
struct pipeline_events {
    void *context;
    /* As in struct session_events. */
    void (*ready)(void *context, const struct session_peer *peer);
    /* The callee owns the call from now on; the reply is valid during the callback. */
    void (*replied)(void *context, struct call *call, const struct redisReply *reply);
    /* The connection was lost, or could not be made for a new reason. All calls on it have ended.
     * `code` and `reason` are as in struct session_loss. */
    void (*down)(void *context, int code, const char *reason);
    /* Returns the reason that refused calls get. */
    const char *(*why_refused)(void *context, enum store_outcome *ret);
    /* The memory is gone. */
    void (*closed)(void *context);
};

/* As session_open. */
int pipeline_open(struct pipeline **ret, uv_loop_t *loop, const struct redis_url *url,
                  struct endpoint *endpoint, const struct pipeline_events *events,
                  struct failure *failure);

/* All calls end at the end of this turn; later `closed` comes. */
void pipeline_close(struct pipeline *pipeline);

/* While the pipeline is up: sends a call, whose deadline is set. */
void pipeline_send(struct pipeline *pipeline, struct call *call);

/* As pipeline_send, but the caller sends another call right after it, whose deadline is the same or
 * earlier. */
void pipeline_send_ahead(struct pipeline *pipeline, struct call *call);

/* Ends a call with STORE_UNSENT, at the end of this turn. */
void pipeline_refuse(struct pipeline *pipeline, struct call *call);

/* While the pipeline is up: takes it down, and makes another connection after Redis has answered
 * the calls under way. `reason` says why. */
void pipeline_retire(struct pipeline *pipeline, const char *reason);

/* Whether the pipeline is connected and not retired. */
bool pipeline_is_up(const struct pipeline *pipeline);

/* Whether no call is under way. */
bool pipeline_is_idle(const struct pipeline *pipeline);

/* Why the pipeline is not up, for people; "" while it is. */
const char *pipeline_trouble(const struct pipeline *pipeline);

/* As session_place. */
const char *pipeline_place(const struct pipeline *pipeline);

#endif
