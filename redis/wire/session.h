/* session.h: keeps one connection to Redis: connects, logs in, checks the server, and connects
 * again after a loss. */
#ifndef BATON_REDIS_WIRE_SESSION_H
#define BATON_REDIS_WIRE_SESSION_H

#include "base/deadline.h"
#include "base/failure.h"
#include "base/slice.h"
#include "redis/wire/endpoint.h"

#include <stdint.h>
#include <uv.h>

enum {
    SESSION_CONNECT_MS =
        DEADLINE_MS(1000),        /* for each address: to connect, log in and answer INFO */
    SESSION_PAUSE_LEAST_MS = 50,  /* before the next try, at first; doubled after each failure */
    SESSION_PAUSE_MOST_MS = 1000, /* the longest; each pause is jittered down to a half */
};

struct session;

struct server_info;
struct redisReply;

/* The server at the other end. */
struct session_peer {
    int64_t client_id; /* the id that Redis gives this connection; 0 if it does not say */
    /* NULL if Redis is set up well. Else it says how locks can be lost, or what batond may not
     * check. */
    const struct failure *warning;
    const struct server_info *info; /* valid during the call */
};

struct session_loss {
    int code; /* -EPROTO if a person has to act, else -EAGAIN; -ECANCELED after session_close */
    const char *reason; /* says what to look at */
    bool was_ready;
    bool is_news;  /* false if the try before failed for the same reason */
    uint64_t sent; /* bytes of the connection's output that have left this process */
};

/* The loop calls these. Each may call the session, session_close included. */
struct session_events {
    void *context;
    /* The session is ready. What `ready` sends reaches Redis before anything else. */
    void (*ready)(void *context, const struct session_peer *peer);
    /* A reply to a command sent since `ready`; valid during the callback. */
    void (*replied)(void *context, const struct redisReply *reply);
    /* The connection was lost or could not be made. The session tries again by itself. */
    void (*lost)(void *context, const struct session_loss *loss);
    /* The time given to session_wake has come. */
    void (*woken)(void *context);
    /* The loop is about to sleep, after session_send or session_request_turn. May be NULL. */
    void (*turn_ends)(void *context);
    /* The memory is gone. */
    void (*closed)(void *context);
};

/* Starts connecting, from the loop. Copies `url`; `failure` may be NULL. With an endpoint, which
 * outlives the session, the session connects to where it points, leaves a server as soon as it
 * points elsewhere, and refuses a replica unless the endpoint takes replicas. Without an endpoint
 * (NULL) it connects to the server in the URL. Returns 0 or a negative errno. */
int session_open(struct session **ret, uv_loop_t *loop, const struct redis_url *url,
                 struct endpoint *endpoint, const struct session_events *events,
                 struct failure *failure);

/* At the end of this turn `lost` comes for the last time (-ECANCELED), and later `closed`. */
void session_close(struct session *session);

/* While the session is ready: sends bytes, at the latest at the end of this turn of the loop.
 * Returns the position behind them in the output of this connection. */
uint64_t session_send(struct session *session, const char *bytes, size_t length);

/* As session_send, for a command of a few words. */
void session_send_words(struct session *session, const struct slice *words, size_t count);

/* While the session is ready: begins to send now. Calls no event. */
void session_push(struct session *session);

/* While the session is ready: sends now. Calls `lost` if that fails. */
void session_flush(struct session *session);

/* While the session is ready: reads some of what has arrived, so that a reply in the socket does
 * not count as late. Calls `replied` and `lost`. Returns true if there may be more. */
bool session_read(struct session *session);

/* While the session is ready: calls `woken` at `due` (on the loop's clock, in ms) or before. */
void session_wake(struct session *session, uint64_t due);

void session_request_turn(struct session *session);

/* Gives up the connection, if there is one, and makes another after the pause. Calls `lost`. */
void session_lose(struct session *session, int code, const char *reason);

bool session_is_ready(const struct session *session);

/* Why the session is not ready, for people; "" while it is. */
const char *session_trouble(const struct session *session);

/* The server to which the session connects, for messages: "Redis at redis://host:6379/0", "the
 * sentinel at …". */
const char *session_place(const struct session *session);

#endif
