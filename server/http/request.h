/* request.h: one HTTP request from its first line to the end of its reply, as libmicrohttpd calls
 * for each step of it. */
#ifndef BATON_SERVER_HTTP_REQUEST_H
#define BATON_SERVER_HTTP_REQUEST_H

#include "api/api.h"
#include "server/http/clients.h"
#include "server/http/disconnect_watch.h"
#include "server/http/https.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"

#include <microhttpd.h>

/* What the requests of a worker have in common. */
struct request_context {
    struct api *api;
    struct metrics *metrics;
    struct disconnect_watches *watches;
    const struct log *log; /* may be NULL */
    bool is_admin;         /* health and figures are served, and nothing else */
    bool closing;          /* replies end their connections */
    size_t under_way;      /* requests begun and not completed */
    size_t suspended; /* of them, those that libmicrohttpd leaves alone until they are resumed */
};

/* What the requests of one daemon have in common: the context of all callbacks below. */
struct daemon_context {
    struct request_context *shared;
    /* A connection has been resumed: the daemon is to be run before the loop sleeps. */
    void (*resumed)(struct daemon_context *daemon);
};

/* For MHD_OPTION_URI_LOG_CALLBACK, the access handler, and MHD_OPTION_NOTIFY_COMPLETED. */
void *request_new(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_step(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_length, void **place);
void request_completed(void *context, struct MHD_Connection *connection, void **place,
                       enum MHD_RequestTerminationCode code);

#endif
