/* clients.h: what is known of each connection: from where it is, what it is about, and until when
 * that may take. Who misses a deadline is hung up on. */
#ifndef BATON_SERVER_HTTP_CLIENTS_H
#define BATON_SERVER_HTTP_CLIENTS_H

#include "server/http/deadlines.h"
#include "server/http/delivery_check.h"
#include "server/http/https.h"
#include "server/http/lingering_close.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"

#include <uv.h>

/* Those of a worker; used on its thread alone. */
struct clients;

/* One connection, from before it is accepted until it is closed. */
struct client {
    struct deadline deadline; /* the first member */
    struct clients *clients;
    struct source_address *address;      /* as it is counted, or NULL: it is trusted, or has none */
    char address_text[INET6_ADDRSTRLEN]; /* the same for people; "": it has none */
    int fd;
    struct undelivered *undelivered; /* the new holds that its last reply told of, if any */
    struct https_session tls;        /* zeroed: what goes over its socket is not encrypted */
    bool is_new;                     /* has not asked for anything yet */
    bool lingers;                    /* may still be sending when its connection is closed */
    bool sends_request;              /* the line of a request has come, but not yet all of it */
    TAILQ_ENTRY(client) others;      /* the daemon's */
};

struct clients_options {
    uv_loop_t *loop;
    struct connection_limits *limits;
    struct metrics *metrics;
    struct delivery_checks *deliveries;
    struct lingering_closes *lingering;
    int64_t lasts_ms[DEADLINE_KINDS];
    /* A whole reply for who is too slow with a request that has begun. */
    const char *too_slow;
};

struct clients *clients_open(const struct clients_options *options);

/* Every client must have been freed. The record is freed by the loop, in this turn. */
void clients_close(struct clients *clients);

/* One on this socket, from there, counted at `address`. From now on it has the time for a request's
 * head. */
struct client *client_new(struct clients *clients, int fd, const struct sockaddr_storage *from,
                          struct source_address *address);

/* It begins to speak TLS. */
void client_begin_tls(struct client *client, struct https *https, gnutls_session_t session);

/* How many have yet to ask for something: the first request of each may be on its way. */
size_t clients_arriving(const struct clients *clients);

/* To all that are idle: their connections are about to be closed. */
void clients_send_close_notify(struct clients *clients);

/* For want of places: hangs up on some of those that have been idle the longest. */
void clients_drop_idle(struct clients *clients);

/* Its connection is about to be closed: its place is free. Whether it has got its last reply is to
 * be found out. */
void client_free(struct client *client);

/* What it is expected to do from now on, and has the time for. */
void client_expect(struct client *client, enum deadline_kind kind);

/* The line of a request has come, which for a connection that was idle begins the time for the rest
 * of the head. For a new one that time goes on. Its last reply must have come to it. */
void client_begin_request(struct client *client);

/* Writes to its socket, past libmicrohttpd, as far as it can be written at once. Returns whether
 * all was. */
bool client_write(struct client *client, const char *text, size_t length);

/* The last of a reply has been sent, which told of these holds; NULL where of none. They are taken
 * over. */
void client_keep_undelivered(struct client *client, struct undelivered *undelivered);

#endif
