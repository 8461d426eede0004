#include "server/http/http.h"

#include "api/http/problem.h"
#include "base/memory.h"
#include "server/http/acceptor.h"
#include "server/http/daemon_pool.h"
#include "server/http/delivery_check.h"
#include "server/http/disconnect_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CLOSE_DEADLINE_MS = 5000,
    /* For connected clients without a request line: it is on its way, and takes a few round trips
     * after a TLS handshake. */
    ARRIVAL_MS = 2000,
    PARTS = 4,
    REFUSAL_LENGTH = 640
};

struct http {
    struct request_context shared;
    char too_slow[REFUSAL_LENGTH], too_many[REFUSAL_LENGTH];
    struct acceptor *acceptor;
    struct daemon_pool *pool;
    struct delivery_checks *deliveries;
    struct lingering_closes *lingering;
    struct clients *clients;
    uv_timer_t deadline; /* of closing */
    bool closing;
    bool too_late; /* for a first request */
    bool cut_off;  /* the deadline of closing has passed */
    int parts;     /* still to close: acceptor, daemons, disconnect watches, deadline */
    void (*closed)(void *context);
    void *context;
};

static void http_on_part_closed(void *context)
{
    struct http *http = context;
    if (--http->parts > 0)
        return;
    http->closed(http->context);
    free(http);
}

static void http_on_deadline_closed(uv_handle_t *handle)
{
    http_on_part_closed(handle->data);
}

/* The loop closes all these handles in one turn, so parts that only free their record are not
 * counted. */
static void http_close_parts(struct http *http)
{
    http->closing = false; /* it has closed now */
    clients_send_close_notify(http->clients);
    daemon_pool_close(http->pool, http_on_part_closed, http);
    clients_close(http->clients);
    disconnect_watches_close(http->shared.watches, http_on_part_closed, http);
    delivery_checks_close(http->deliveries);
    lingering_closes_close(http->lingering);
    uv_close((uv_handle_t *)&http->deadline, http_on_deadline_closed);
}

/* Whether the daemons may stop: nothing is under way, or the deadline has passed. They must not
 * have a suspended connection then; Redis' own deadline is short enough for that. */
static bool http_may_stop(const struct http *http)
{
    bool nobody_comes = http->too_late || clients_arriving(http->clients) == 0;
    return (http->shared.under_way == 0 && nobody_comes) ||
           (http->cut_off && http->shared.suspended == 0);
}

static void http_on_turned(void *context)
{
    struct http *http = context;
    if (http->closing && http_may_stop(http))
        http_close_parts(http);
}

/* A whole reply for a connection that libmicrohttpd does not answer. */
static void http_write_refusal(char *text, const char *head, enum problem problem,
                               const char *detail)
{
    char *body = problem_line(problem, detail);
    snprintf(text, REFUSAL_LENGTH,
             "HTTP/1.1 %s\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n%s",
             head, strlen(body), body);
    free(body);
}

static void http_open_parts(struct http *http, uv_loop_t *loop, const struct http_options *options)
{
    http_write_refusal(http->too_slow, "408 Request Timeout", PROBLEM_REQUEST_TIMEOUT,
                       "The request did not arrive in time: its head within head-timeout, its body "
                       "within body-timeout. Send it again, at once and as a whole.");
    http_write_refusal(
        http->too_many, "429 Too Many Requests\r\nRetry-After: 1", PROBLEM_TOO_MANY_CONNECTIONS,
        "Your address has as many connections open as max-connections-per-address allows. Close "
        "some, or use one for several requests.");
    http->deliveries = delivery_checks_open(loop, options->metrics);
    http->lingering = lingering_closes_open(loop);
    http->clients = clients_open(&(struct clients_options){
        .loop = loop,
        .limits = options->connection_limits,
        .metrics = options->metrics,
        .deliveries = http->deliveries,
        .lingering = http->lingering,
        .lasts_ms = {[DEADLINE_HEAD] = options->head_timeout_ms,
                     [DEADLINE_BODY] = options->body_timeout_ms,
                     [DEADLINE_REPLY] = options->idle_timeout_ms,
                     [DEADLINE_IDLE] = options->idle_timeout_ms},
        .too_slow = http->too_slow,
    });
    http->pool = daemon_pool_open(loop, &http->shared, options->https, http_on_turned, http);
    http->acceptor = acceptor_new(&(struct acceptor_options){
        .loop = loop,
        .listen_fd = options->listen_fd,
        .limits = options->connection_limits,
        .clients = http->clients,
        .lingering = http->lingering,
        .pool = http->pool,
        .metrics = options->metrics,
        .log = options->log,
        .when_full =
            options->is_admin
                ? "new connections to admin-listen wait, because all of its connections are in "
                  "use; let only probes and Prometheus reach it"
                : "new connections wait, because as many are open as max-connections allows",
        .too_many = options->https ? "" : http->too_many, /* the client expects TLS */
    });
    uv_timer_init(loop, &http->deadline);
    http->deadline.data = http;
}

int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options)
{
    struct http *http = memory_checked(calloc(1, sizeof *http));
    http->shared = (struct request_context){.api = options->api,
                                            .metrics = options->metrics,
                                            .log = options->log,
                                            .connection_limits = options->connection_limits,
                                            .is_admin = options->is_admin};
    http->parts = PARTS;
    if (options->idle_timeout_ms >= 1000)
        snprintf(http->shared.keep_alive, sizeof http->shared.keep_alive, "timeout=%" PRId64,
                 options->idle_timeout_ms / 1000);
    int result = disconnect_watches_open(&http->shared.watches, loop);
    if (result < 0) {
        close(options->listen_fd);
        free(http);
        return result;
    }
    http_open_parts(http, loop, options);
    *ret = http;
    return 0;
}

void http_serve(struct http *http)
{
    acceptor_open(http->acceptor);
    daemon_pool_start(http->pool);
}

void http_set_https(struct http *http, struct https *https)
{
    daemon_pool_set_https(http->pool, https);
}

/* Requests that wait for the API would wait on, so they end. Requests that are still being sent get
 * no reply. */
static void http_on_close_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->cut_off = true;
    disconnect_watches_report_all(http->shared.watches);
    daemon_pool_wake(http->pool); /* this turn may have no other event */
}

static void http_on_arrival_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->too_late = true;
    uv_timer_start(timer, http_on_close_deadline, CLOSE_DEADLINE_MS - ARRIVAL_MS, 0);
    daemon_pool_wake(http->pool);
}

void http_close(struct http *http, void (*closed)(void *context), void *context)
{
    http->closed = closed;
    http->context = context;
    http_serve(http); /* answers waiting clients, even if http_serve was never called */
    http->closing = http->shared.closing = true;
    acceptor_close(http->acceptor, http_on_part_closed, http);
    api_drain(http->shared.api);
    uv_timer_start(&http->deadline, http_on_arrival_deadline, ARRIVAL_MS, 0);
    daemon_pool_wake(http->pool); /* makes a turn that notices that nothing is under way */
}
