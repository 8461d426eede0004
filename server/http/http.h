/* http.h: HTTP in and out of one worker: its acceptor, its daemons, and their end in good order. */
#ifndef BATON_SERVER_HTTP_HTTP_H
#define BATON_SERVER_HTTP_HTTP_H

#include "api/api.h"
#include "server/http/https.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"

#include <uv.h>

/* Daemons without a thread of their own, driven from the worker's loop. A request is one record
 * from its first line to the end of its reply: parked while Redis works or while it waits (the
 * connection suspended), and freed in libmicrohttpd's completion callback alone. */
struct http;

struct http_options {
    int listen_fd; /* taken over */
    struct api *api;
    struct metrics *metrics;
    struct https *https; /* NULL: plain HTTP; a reference of its own is taken */
    const struct log *log;
    struct connection_limits *connection_limits; /* of all workers */
    bool is_admin;                               /* serves health and figures, and nothing else */
    int64_t head_timeout_ms; /* from the connection's begin, or the line of a further request */
    int64_t body_timeout_ms; /* from the end of the head */
    int64_t idle_timeout_ms; /* between requests, and for a reply to be read */
};

/* Clients may connect from now on, and wait for http_serve. Returns 0 or a negative errno; the
 * descriptor is closed then, too. */
int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options);

/* Begins to serve; does nothing where it has begun. */
void http_serve(struct http *http);

/* What TLS clients are shown from now on; those that are connected notice nothing. Only where there
 * was one before. */
void http_set_https(struct http *http, struct https *https);

/* Ends in good order: serves whom the kernel has already accepted, takes no new connection, lets
 * requests under way finish (5 s at most), closes, and calls `closed` from the loop, by which time
 * the record is freed. */
void http_close(struct http *http, void (*closed)(void *context), void *context);

#endif
