/* session.h: keeps one connection to Redis: connects, logs in, checks the server, sends requests
 * and hands out their answers, and connects again after a loss. */
#ifndef BATON_REDIS_WIRE_SESSION_H
#define BATON_REDIS_WIRE_SESSION_H

#include "base/failure.h"
#include "redis/wire/call.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

enum {
    SESSION_PAUSE_LEAST_MS = 50,  /* before the next try, at first; doubled after each failure */
    SESSION_PAUSE_MOST_MS = 1000, /* the longest; each pause is jittered down to a half */
};

/* A request is a script call (session_send) or a command of a few words (session_ask). Redis
 * answers requests in their order. If a request has no answer by its deadline, the session gives up
 * the connection. Used on its loop's thread alone. */
struct session;

struct server_info;

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
    bool is_news;       /* false if the try before failed for the same reason */
};

/* When the session asks, and when an answer is late. Zeroed: it never asks by itself. */
struct session_pace {
    unsigned ask_ms;   /* from one `ask` to the next, once all requests are answered */
    unsigned space_ms; /* the same after session_ask_soon */
    /* An answer is late only if Redis has sent nothing else either for as long as the request may
     * take. While it sends other answers, the request is only queued behind them. */
    bool is_patient;
    const char *late; /* the reason to report after a late answer; NULL: the session's own */
};

/* The loop calls these. Each may call the session, session_close included. */
struct session_events {
    void *context;
    struct session_pace pace;
    /* The session is ready. What `ready` sends reaches Redis before anything else. NULL: `ask`
     * comes at once. */
    void (*ready)(void *context, const struct session_peer *peer);
    /* It is time to ask, by the pace. NULL without a pace. */
    void (*ask)(void *context);
    /* Returns true if the reply is a message, which answers no request. NULL: Redis sends none. */
    bool (*message)(void *context, const struct redisReply *reply);
    /* A script call is about to go, alone or as the first of those that go as one command. This one
     * and the next two are NULL if the owner makes no script calls. */
    void (*stamp)(void *context, struct call *call);
    /* Redis has answered a script call. The callee owns the call from now on; the reply is valid
     * during the callback. */
    void (*replied)(void *context, struct call *call, const struct redisReply *reply);
    /* Returns the reason that refused calls get. */
    const char *(*why_refused)(void *context, enum store_outcome *ret);
    /* The connection was lost or could not be made, and all requests on it have ended. The session
     * tries again by itself. */
    void (*lost)(void *context, const struct session_loss *loss);
    /* The loop is about to sleep, after a request or session_request_turn. May be NULL. */
    void (*turn_ends)(void *context);
    /* The memory is gone. */
    void (*closed)(void *context);
};

/* Starts connecting, from the loop. Copies `url`, whose files for TLS were read. With an endpoint,
 * which outlives the session, the session connects to where it points, leaves a server as soon as
 * it points elsewhere, and refuses a replica unless the endpoint takes replicas. Without an
 * endpoint (NULL) it connects to the server in the URL. */
struct session *session_open(uv_loop_t *loop, const struct redis_url *url,
                             struct endpoint *endpoint, const struct session_events *events);

/* At the end of this turn all requests end, `lost` comes for the last time (-ECANCELED), and later
 * `closed`. */
void session_close(struct session *session);

/* While the session is ready: sends a command of a few words, at the latest at the end of this turn
 * of the loop. Redis has `answer_ms` to answer it. `answered` runs with the answer, which is valid
 * during the call; NULL: the answer does not matter. It does not run if the connection is lost
 * first. */
void session_ask(struct session *session, const struct slice *words, size_t count,
                 unsigned answer_ms, call_answered *answered);

/* While the session is ready: sends a script call, whose deadline is set. If Redis has other
 * requests of ours to answer, it goes at the end of this turn of the loop, in one command with
 * others of this turn: see gather.h. */
void session_send(struct session *session, struct call *call);

/* Ends a script call with STORE_UNSENT, at the end of this turn. */
void session_refuse(struct session *session, struct call *call);

/* Calls `ask` soon, `space_ms` after the last time at the earliest. If the session is not ready, or
 * requests are under way, it asks after that. */
void session_ask_soon(struct session *session);

/* When the session last called `ask`, or became ready; on the loop's clock, in ms. */
uint64_t session_asked(const struct session *session);

/* While the session is ready: begins to send now. Calls no event. */
void session_push(struct session *session);

/* While the session is ready: sends now. Calls `lost` if that fails. */
void session_flush(struct session *session);

/* While the session is ready: reads some of what has arrived, so that a reply in the socket does
 * not count as late. Calls events. Returns true if there may be more. */
bool session_read(struct session *session);

/* Makes `turn_ends` come at the end of this turn of the loop. */
void session_request_turn(struct session *session);

/* Gives up the connection, if there is one, and makes another after the pause. Calls `lost`. */
void session_lose(struct session *session, int code, const char *reason);

/* While the session is ready: takes no new request, and makes another connection after Redis has
 * answered those under way. `reason` says why. */
void session_retire(struct session *session, const char *reason);

/* Whether the session is connected and not retired. */
bool session_is_ready(const struct session *session);

/* Whether no request is under way. */
bool session_is_idle(const struct session *session);

/* How long the server has to answer: `timeout_ms` of the URL. */
unsigned session_timeout_ms(const struct session *session);

/* Why the session is not ready, for people; "" while it is. */
const char *session_trouble(const struct session *session);

/* The server to which the session connects, for messages: "Redis at redis://host:6379/0", "the
 * sentinel at …". */
const char *session_place(const struct session *session);

#endif
