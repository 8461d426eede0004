/* pipeline.h: commands on their way to one Redis, and what becomes of each: it is answered, it is
 * lost with the connection, or it is not sent at all. */
#ifndef BATON_REDIS_WIRE_PIPELINE_H
#define BATON_REDIS_WIRE_PIPELINE_H

#include "redis/wire/call.h"
#include "redis/wire/session.h"

/* The connection comes back by itself. Replies come in the order in which the calls were sent; when
 * a call has none by its deadline, and Redis has said nothing else for STORE_DEADLINE_MS either,
 * the connection is given up, and every call on it ends. Used on its loop's thread alone. */
struct pipeline;

/* All are called from the loop, and may call the pipeline; pipeline_close, too. */
struct pipeline_events {
    void *context;
    /* As that of struct session_events. */
    void (*ready)(void *context, const struct session_peer *peer);
    /* The call is the callee's from now on; the reply is valid during this. */
    void (*replied)(void *context, struct call *call, const struct redisReply *reply);
    /* The connection was lost or could not be made, which is news, and all calls on it have ended.
     * `code` and `reason` are as in struct session_loss. */
    void (*down)(void *context, int code, const char *reason);
    /* What calls that were refused are told. */
    const char *(*why_refused)(void *context);
    /* The memory is gone. */
    void (*closed)(void *context);
};

/* As session_open. */
int pipeline_open(struct pipeline **ret, uv_loop_t *loop, const struct redis_url *url,
                  struct endpoint *endpoint, const struct pipeline_events *events,
                  struct failure *failure);

/* At the end of this turn all calls end, and later `closed` comes. */
void pipeline_close(struct pipeline *pipeline);

/* While it is up: sends a call that has its deadline. */
void pipeline_send(struct pipeline *pipeline, struct call *call);

/* The same for one that another one follows at once, whose deadline is no later. */
void pipeline_send_ahead(struct pipeline *pipeline, struct call *call);

/* Ends a call (STORE_UNSENT), but only at the end of this turn. */
void pipeline_refuse(struct pipeline *pipeline, struct call *call);

/* While it is up: it is not any more, and makes another connection once what is under way has been
 * answered. */
void pipeline_retire(struct pipeline *pipeline, const char *reason);

/* Whether it is connected, and is to stay so. */
bool pipeline_is_up(const struct pipeline *pipeline);

/* Whether nothing is under way. */
bool pipeline_is_idle(const struct pipeline *pipeline);

/* Why it is not up, for people; "" while it is. */
const char *pipeline_trouble(const struct pipeline *pipeline);

/* As session_place. */
const char *pipeline_place(const struct pipeline *pipeline);

#endif
