/* clients.h: one record per connection: its address, its TLS session and its deadline. A client
 * that misses a deadline is disconnected. */
#ifndef BATON_SERVER_HTTP_CLIENTS_H
#define BATON_SERVER_HTTP_CLIENTS_H

#include "server/http/deadlines.h"
#include "server/http/delivery_check.h"
#include "server/http/https.h"
#include "server/http/lingering_close.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"

#include <uv.h>

/* The clients of a worker. Use them on its thread alone. */
struct clients;

/* One connection, from when it is accepted until it is closed. */
struct client {
    struct deadline deadline; /* the first member */
    struct clients *clients;
    struct source_address *address;      /* counts the connection; NULL: trusted, or not of IP */
    char address_text[INET6_ADDRSTRLEN]; /* for people; "": not of IP */
    int fd;
    struct undelivered *undelivered; /* the new holds in its last reply, or NULL */
    struct https_session tls;        /* zeroed: the connection has no TLS */
    bool is_new;                     /* it has not sent a request line yet */
    bool lingers;                    /* it may still be sending when its connection is closed */
    bool sends_request;              /* its request line has come, but not yet all of the request */
    TAILQ_ENTRY(client) others;      /* in the list of the daemon */
};

struct clients_options {
    uv_loop_t *loop;
    struct connection_limits *limits;
    struct metrics *metrics;
    struct delivery_checks *deliveries;
    struct lingering_closes *lingering;
    int64_t lasts_ms[DEADLINE_KINDS];
    /* The whole reply for a client that is too slow with a request that has begun. */
    const char *too_slow;
};

struct clients *clients_open(const struct clients_options *options);

/* Free every client first. The loop frees the record in this turn. */
void clients_close(struct clients *clients);

/* A client on this socket, counted at `address`. Its time for the head of a request begins. */
struct client *client_new(struct clients *clients, int fd, const struct sockaddr_storage *from,
                          struct source_address *address);

/* The number of clients that have not sent a request line yet: it may be on its way. */
size_t clients_arriving(const struct clients *clients);

/* Sends close_notify to every idle client. Call this when their connections are about to be
 * closed. */
void clients_send_close_notify(struct clients *clients);

/* Disconnects some of the clients that have been idle the longest, so that others get their
 * slots. */
void clients_drop_idle(struct clients *clients);

/* Call this when the connection is about to be closed. Releases its slot, and finds out whether the
 * client got its last reply. */
void client_free(struct client *client);

/* Sets what the client must do next; its time for that begins. */
void client_expect(struct client *client, enum deadline_kind kind);

/* Call this when the request line has come. If the client was idle, its time for the rest of the
 * head begins; if it is new, that time goes on. A further request also shows that the last reply
 * has arrived. */
void client_begin_request(struct client *client);

/* Writes to the socket past libmicrohttpd, without blocking. Returns whether all was written. */
bool client_write(struct client *client, const char *text, size_t length);

/* Call this when the whole reply is sent. Takes over `undelivered`, the new holds in it, or
 * NULL. */
void client_keep_undelivered(struct client *client, struct undelivered *undelivered);

#endif
