/* session_state.h: what redis/wire/session.c, which keeps a connection, and
 * redis/wire/session_connect.c, which makes it, know of a session; nobody else does. */
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
    SESSION_SEEKING,    /* until the endpoint knows where to */
    SESSION_RESOLVING,  /* the host's name */
    SESSION_CONNECTING, /* to `candidate` */
    SESSION_GREETING,   /* AUTH, SELECT, CLIENT ID, INFO are on their way */
    SESSION_READY,
    SESSION_STATES /* how many there are */
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

    /* The pause, the time to connect and what the owner wants to be woken for never overlap. */
    uv_timer_t timer;
    uint64_t timer_due;
    struct deferred turn;
    uv_getaddrinfo_t resolver;
    bool resolving;
    int parts_open; /* the timer, the turn, the resolver's request, connections being closed */

    struct addrinfo *resolved; /* to be freed */
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

/* One of those that are counted in `parts_open`: with the last the session is freed. */
void session_part_closed(void *context);

void session_timer_set(struct session *session, uint64_t ms);

/* Keeps `reason` as what is wrong. Returns true if that is something new. */
bool session_note(struct session *session, const char *reason);

/* redis/wire/session_connect.c */

/* Begins to connect, to where the endpoint points, or else to what the URL names. */
void session_attempt(struct session *session);

/* The endpoint has something new to tell. */
void session_endpoint_changed(void *context);

/* The timer fired while the host's name was looked up, and while it connected or logged in. */
void session_resolver_slow(struct session *session);
void session_connect_overdue(struct session *session);

void session_forget_addresses(struct session *session);
void session_drop_connection(struct session *session);

/* What it connects to, for messages; for a socket of Unix, its address. */
void session_name_place(struct session *session);
void session_name_socket(struct session *session);

#endif
