/* request.h: one HTTP request from its request line to the end of its reply, driven by
 * libmicrohttpd's callbacks. */
#ifndef BATON_SERVER_HTTP_REQUEST_H
#define BATON_SERVER_HTTP_REQUEST_H

#include "api/api.h"
#include "server/http/chunk_check.h"
#include "server/http/clients.h"
#include "server/http/disconnect_watch.h"
#include "server/http/https.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/queue.h>

/* Shared by the requests of a worker. */
struct request_context {
    struct api *api;
    struct metrics *metrics;
    struct disconnect_watches *watches;
    const struct log *log; /* may be NULL */
    const struct connection_limits *connection_limits;
    char keep_alive[32]; /* the value of Keep-Alive; "": too short to promise */
    bool is_admin;       /* serves health and metrics only */
    bool closing;        /* each reply ends its connection */
    size_t under_way;    /* requests begun and not completed */
    size_t suspended;    /* of them, those whose connection is suspended */
};

/* Shared by the requests of one daemon: the context of all callbacks below. */
struct daemon_context {
    struct request_context *shared;
    /* A connection has been resumed: run the daemon before the loop sleeps. */
    void (*resumed)(struct daemon_context *daemon);
    LIST_HEAD(arriving, http_request) arriving; /* requests that have not begun */
    uint64_t runs;                              /* how often the daemon has run */
};

/* One request. MHD_OPTION_URI_LOG_CALLBACK makes it from the request line,
 * MHD_OPTION_NOTIFY_COMPLETED frees it. */
struct http_request {
    struct exchange exchange; /* the first member: the API hands this back */
    struct daemon_context *daemon;
    struct MHD_Connection *connection;
    struct client *client;
    bool begun;                      /* the fields of the head are known */
    LIST_ENTRY(http_request) others; /* arriving requests, until it has begun */
    bool refused_by_library;         /* before it called the access handler: nothing is counted */
    uint64_t received_at;            /* when it was complete, by uv_hrtime; 0: refused before */
    struct {
        char *bytes;
        size_t received; /* bytes, even if dropped */
        struct chunk_check chunks;
    } body;
    struct {
        struct disconnect_watch watch;
        bool suspended; /* libmicrohttpd ignores the connection */
        bool waiting;   /* counted as a waiter or watcher */
        bool waited;
        bool disconnected; /* the client has gone, and the API knows */
    } wait;
    struct {
        bool is_last;         /* the client wants no further request on this connection */
        bool ends_connection; /* the end of the request is unknown, or its body unread */
        bool written;         /* the client has the reply, however libmicrohttpd ends the request */
        bool streaming; /* the head of a stream is being sent; the rest is read as it is written */
        size_t bytes_sent; /* of a stream */
    } response;
    char forwarded_for[INET6_ADDRSTRLEN]; /* "" unless a trusted proxy says so */
    char target[];                        /* as it was sent */
};

static inline struct request_context *context_of(const struct http_request *request)
{
    return request->daemon->shared;
}

/* Suspends the connection: no deadline counts until it is resumed. Call this from inside
 * libmicrohttpd's callbacks only. */
void http_request_suspend(struct http_request *request);

/* Watches the client: when it disconnects, notifies the API and ends the connection. */
void http_request_watch(struct http_request *request);

/* For MHD_OPTION_EXTERNAL_LOGGER, with the daemon's context. */
void http_request_on_log(void *context, const char *format, va_list arguments);

/* For MHD_OPTION_URI_LOG_CALLBACK, the access handler, and MHD_OPTION_NOTIFY_COMPLETED. */
void *http_request_new(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result http_request_step(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **state);
void http_request_completed(void *context, struct MHD_Connection *connection, void **state,
                            enum MHD_RequestTerminationCode code);

#endif
