/* http.h: serves HTTP in one worker: its acceptor, its daemons, and their orderly end. */
#ifndef BATON_SERVER_HTTP_HTTP_H
#define BATON_SERVER_HTTP_HTTP_H

#include "api/api.h"
#include "server/http/https.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"

#include <uv.h>

/* The daemons have no thread and run in the worker's loop. One struct http_request lasts from the
 * request line to the end of the reply. While Redis works or the client waits, its connection is
 * suspended; libmicrohttpd's completion callback alone frees it. */
struct http;

struct http_options {
    int listen_fd; /* taken over */
    struct api *api;
    struct metrics *metrics;
    struct https *https; /* NULL: plain HTTP; takes its own reference */
    const struct log *log;
    struct connection_limits *connection_limits; /* shared by all workers */
    bool is_admin;                               /* serves health and metrics only */
    int64_t head_timeout_ms; /* from the connection, or from a further request line */
    int64_t body_timeout_ms; /* from the end of the head */
    int64_t idle_timeout_ms; /* between requests, and for the client to read a reply */
};

/* Clients can connect from now on, and wait until http_serve. Returns 0 or a negative errno; then
 * the descriptor is closed, too. */
int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options);

/* Begins to serve. Does nothing if it serves already. */
void http_serve(struct http *http);

/* For new TLS connections; open ones do not change. Call this only if there was one before. */
void http_set_https(struct http *http, struct https *https);

/* Serves the clients that the kernel has already accepted, takes no new ones, lets requests under
 * way finish (5 s at most), and closes. Calls `closed` from the loop, after freeing the record. */
void http_close(struct http *http, void (*closed)(void *context), void *context);

#endif
