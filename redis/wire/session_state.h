/* session_state.h: the state of a session. Only redis/wire/session.c, which keeps a connection, and
 * redis/wire/session_connect.c, which makes it, know it. */
#ifndef BATON_REDIS_WIRE_SESSION_STATE_H
#define BATON_REDIS_WIRE_SESSION_STATE_H

#include "redis/wire/connection.h"
#include "redis/wire/deferred.h"
#include "redis/wire/greeting.h"
#include "redis/wire/session.h"

#include <sys/un.h>

enum { SESSION_PLACE_SIZE = 300, SESSION_TROUBLE_SIZE = sizeof((struct failure *)0)->text };

enum session_state {
    SESSION_WAITING,    /* for the next try */
    SESSION_SEEKING,    /* for the endpoint to know the server */
    SESSION_RESOLVING,  /* the host's name */
    SESSION_CONNECTING, /* to `candidate` */
    SESSION_GREETING,   /* AUTH, SELECT, CLIENT ID, INFO are on their way */
    SESSION_READY,
    SESSION_STATES /* the number of states */
};

struct session {
    uv_loop_t *loop;
    struct redis_url url;
    char place[SESSION_PLACE_SIZE];
    struct endpoint *endpoint; /* NULL: the URL names the server */
    struct follower follower;  /* of the endpoint */
    struct tls_trust *trust;
    struct session_events events;
    enum session_state state;
    bool closing;

    /* One timer is enough: the pause, the time to connect and session_wake never overlap. */
    uv_timer_t timer;
    uint64_t timer_due; /* on the loop's clock, in ms, as is `ready_since` */
    struct deferred deferred;
    uv_getaddrinfo_t resolver;
    bool resolving;
    int parts_open; /* open handles: the timer, `deferred`, a lookup, each connection */

    struct addrinfo *resolved; /* for uv_freeaddrinfo */
    struct addrinfo unix_info; /* stands for a resolved address */
    struct sockaddr_un unix_address;
    const struct addrinfo *candidate; /* the address in use */
    struct connection *connection;

    struct greeting greeting;
    uint32_t pause_ms;
    uint64_t ready_since;
    char trouble[SESSION_TROUBLE_SIZE];
};

/* redis/wire/session.c */

/* One of `parts_open` is closed. The last one frees the session. */
void session_part_closed(void *context);

void session_timer_set(struct session *session, uint64_t ms);

/* Keeps `reason` as the trouble of the session. Returns true if it is a new one. */
bool session_note(struct session *session, const char *reason);

/* redis/wire/session_connect.c */

/* Starts to connect: to where the endpoint points or, without one, to the server of the URL. */
void session_attempt(struct session *session);

/* The endpoint points elsewhere, or nowhere. */
void session_endpoint_changed(void *context);

/* The timer fired: during the lookup of the host's name, or while the session connected or logged
 * in. */
void session_resolver_slow(struct session *session);
void session_connect_overdue(struct session *session);

void session_forget_addresses(struct session *session);
void session_drop_connection(struct session *session);

/* Set `place` and, for a Unix socket, its address. */
void session_name_place(struct session *session);
void session_name_socket(struct session *session);

#endif
