#include "server/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum {
    IDLE_SECONDS = 75, /* above the usual 60 s of proxies, so that they close first */
    /* For the request line and the header fields. Its size costs time: the library wipes it after
     * every request. */
    CONNECTION_MEMORY = 8 * 1024,
    SWALLOWED_MOST = 1 << 20, /* bytes of a body that is too long */
    CLOSE_DEADLINE_MS = 5000,
    LAST_ROUNDS = 1024, /* each accepts one at least, unless all places are taken */
    HANDLES = 4,
};

static const char LOCK_TOKEN[] = "Lock-Token";

struct http {
    uv_loop_t *loop;
    struct MHD_Daemon *daemon;
    struct api *api;
    struct metrics *metrics;
    uv_poll_t events; /* the daemon's epoll descriptor is readable */
    uv_check_t turn;  /* runs the daemon once in every turn of the loop, after all other events */
    uv_idle_t busy;   /* keeps the loop from sleeping while the daemon has more to do */
    uv_timer_t timer; /* the daemon's own next deadline, later that of closing */
    size_t under_way; /* requests begun and not completed */
    size_t parked;    /* of them, those that wait for the API */
    bool closing;
    bool cut_off; /* closing takes too long */
    int open_handles;
    void (*closed)(void *context);
    void *context;
};

/* One request. Made with the request line, freed when libmicrohttpd has done with it. */
struct record {
    struct exchange exchange; /* the first member: the API hands this back */
    struct http *http;
    struct MHD_Connection *connection;
    bool begun;
    bool too_large;
    char *body;
    size_t body_length;
    char target[];
};

static void *record_new(void *context, const char *target, struct MHD_Connection *connection)
{
    size_t length = strlen(target);
    struct record *record = calloc(1, sizeof *record + length + 1);
    if (!record)
        abort();
    record->http = context;
    record->connection = connection;
    memcpy(record->target, target, length);
    record->http->under_way++;
    return record;
}

/* Queues the reply that the exchange has got. */
static enum MHD_Result send_reply(struct record *record)
{
    const struct reply *reply = &record->exchange.reply;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        reply->length, (void *)(uintptr_t)reply->body, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < reply->header_count; i++)
        MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    if (reply->content_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    MHD_add_response_header(response, "X-Request-Id", record->exchange.request_id);
    if (record->http->closing)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued = MHD_queue_response(record->connection, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

/* The API has answered a parked exchange. Runs from the loop, outside of MHD_run, where a resume is
 * seen at once: the daemon runs later in this turn. That may be about to sleep, which the idle
 * handle prevents: libmicrohttpd would not wake it. */
static void answered(struct exchange *exchange)
{
    struct record *record = (struct record *)exchange;
    record->http->parked--;
    MHD_resume_connection(record->connection);
    uv_idle_start(&record->http->busy, on_busy);
}

static bool is_request_id(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    return length >= 1 && length <= EXCHANGE_REQUEST_ID_LENGTH &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

static const char *header(const struct record *record, const char *name)
{
    return MHD_lookup_connection_value(record->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_tokens(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    size_t *count = context;
    (void)kind, (void)value;
    *count += strcasecmp(name, LOCK_TOKEN) == 0;
    return MHD_YES;
}

/* Which of two tokens was meant, nobody knows. */
static bool has_several_tokens(const struct record *record)
{
    size_t count = 0;
    MHD_get_connection_values(record->connection, MHD_HEADER_KIND, count_tokens, &count);
    return count > 1;
}

static void begin(struct record *record, const char *method)
{
    struct exchange *exchange = &record->exchange;
    const char *request_id = header(record, "X-Request-Id");
    record->begun = true;
    exchange->method = method;
    exchange->target = record->target;
    exchange->content_type = header(record, MHD_HTTP_HEADER_CONTENT_TYPE);
    exchange->accept = header(record, MHD_HTTP_HEADER_ACCEPT);
    exchange->lock_token = header(record, LOCK_TOKEN);
    exchange->lock_token_repeated = exchange->lock_token && has_several_tokens(record);
    exchange->if_none_match = header(record, MHD_HTTP_HEADER_IF_NONE_MATCH);
    exchange->answered = answered;
    if (is_request_id(request_id))
        snprintf(exchange->request_id, sizeof exchange->request_id, "%s", request_id);
    else
        token_make(&record->http->api->randomness, exchange->request_id);
}

/* Whether the request says itself that its body is too long to be read at all. What is only a
 * little too long is read and dropped, since who is answered while still sending may see a reset
 * connection in place of the answer. */
static bool announces_too_much(const struct record *record)
{
    const char *length = header(record, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length && strtoull(length, NULL, 10) > SWALLOWED_MOST;
}

/* Keeps a piece of the body; what is too long is read and dropped, since a reply cannot be queued
 * before the body has ended. */
static void keep(struct record *record, const char *bytes, size_t length)
{
    if (record->too_large || record->body_length + length > EXCHANGE_BODY_LONGEST) {
        record->too_large = true;
        return;
    }
    char *body = realloc(record->body, record->body_length + length);
    if (!body)
        abort();
    memcpy(body + record->body_length, bytes, length);
    record->body = body;
    record->body_length += length;
}

static enum MHD_Result refuse_body(struct record *record)
{
    api_refuse_body(record->http->api, &record->exchange);
    return send_reply(record);
}

static enum MHD_Result handle(struct record *record)
{
    struct exchange *exchange = &record->exchange;
    if (record->too_large)
        return refuse_body(record);
    exchange->body = (struct slice){record->body, record->body_length};
    if (api_handle(record->http->api, exchange) == ANSWERED)
        return send_reply(record);
    record->http->parked++;
    MHD_suspend_connection(record->connection);
    return MHD_YES;
}

/* Nobody watches the socket while the connection is suspended, and what is sent to a client that
 * has gone looks delivered. */
static bool has_hung_up(const struct record *record)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(record->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd client = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&client, 1, 0) > 0;
}

/* A grant is not told to a client that has hung up: the connection ends without a reply, so that
 * on_completed has it taken back. */
static enum MHD_Result send_parked(struct record *record)
{
    if (api_has_granted(&record->exchange) && has_hung_up(record))
        return MHD_NO;
    return send_reply(record);
}

/* libmicrohttpd calls this when the header is complete, for each piece of the body, when the body
 * is complete, and again after a resume. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **place)
{
    struct record *record = *place;
    (void)context, (void)connection, (void)url, (void)version;
    if (!record->begun) {
        begin(record, method);
        return announces_too_much(record) ? refuse_body(record) : MHD_YES;
    }
    if (*upload_length > 0) {
        keep(record, upload, *upload_length);
        *upload_length = 0;
        return MHD_YES;
    }
    return record->exchange.reply.status ? send_parked(record) : handle(record);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode code)
{
    struct http *http = context;
    struct record *record = *place;
    (void)connection;
    if (!record)
        return;
    *place = NULL;
    if (record->exchange.reply.status) {
        metrics_count(http->metrics, record->exchange.route, record->exchange.reply.status);
        if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK) {
            atomic_fetch_add_explicit(&http->metrics->undelivered, 1, memory_order_relaxed);
            api_undelivered(&record->exchange);
        }
    }
    exchange_clear(&record->exchange);
    free(record->body);
    free(record);
    http->under_way--;
}

/* Targets are taken apart by the API, from the request line as it was sent. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

static void be_silent(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments; /* malformed requests are not worth a line each */
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;
    if (--http->open_handles > 0)
        return;
    http->closed(http->context);
    free(http);
}

/* Whether the daemon may stop: nothing is under way any more, or the deadline has passed. It must
 * not have a suspended connection then, but Redis' own deadline is short. */
static bool is_finished(const struct http *http)
{
    return http->under_way == 0 || (http->cut_off && http->parked == 0);
}

static void finish(struct http *http)
{
    uv_handle_t *handles[HANDLES] = {(uv_handle_t *)&http->events, (uv_handle_t *)&http->turn,
                                     (uv_handle_t *)&http->busy, (uv_handle_t *)&http->timer};
    MHD_stop_daemon(http->daemon);
    for (size_t i = 0; i < HANDLES; i++)
        uv_close(handles[i], on_handle_closed);
}

static void on_nothing(uv_timer_t *timer)
{
    (void)timer; /* the turn of the loop that it brings about is what counts */
}

static void on_events(uv_poll_t *events, int status, int what)
{
    (void)events, (void)status, (void)what;
}

/* Sees to it that the loop turns again when the daemon wants to run. */
static void plan_next_turn(struct http *http)
{
    unsigned long long timeout;
    bool wanted = MHD_get_timeout(http->daemon, &timeout) == MHD_YES;
    if (wanted && timeout == 0)
        uv_idle_start(&http->busy, on_busy);
    else
        uv_idle_stop(&http->busy);
    if (http->closing)
        return; /* the timer is the deadline of closing */
    if (wanted && timeout > 0)
        uv_timer_start(&http->timer, on_nothing, timeout, 0);
    else
        uv_timer_stop(&http->timer);
}

static void on_turn(uv_check_t *turn)
{
    struct http *http = turn->data;
    MHD_run(http->daemon);
    if (http->closing && is_finished(http))
        finish(http);
    else
        plan_next_turn(http);
}

static struct MHD_Daemon *daemon_start(struct http *http, const struct http_options *options)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
        MHD_OPTION_LISTEN_SOCKET, options->listen_fd, MHD_OPTION_URI_LOG_CALLBACK, record_new, http,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, NULL, MHD_OPTION_CONNECTION_LIMIT, options->connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
}

int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        abort();
    *http = (struct http){.loop = loop, .api = options->api, .metrics = options->metrics};
    http->daemon = daemon_start(http, options);
    if (!http->daemon) {
        close(options->listen_fd);
        free(http);
        return -EIO;
    }
    int events_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    uv_poll_init(loop, &http->events, events_fd);
    uv_check_init(loop, &http->turn);
    uv_idle_init(loop, &http->busy);
    uv_timer_init(loop, &http->timer);
    http->open_handles = HANDLES;
    http->events.data = http->turn.data = http->busy.data = http->timer.data = http;
    *ret = http;
    return 0;
}

void http_serve(struct http *http)
{
    uv_poll_start(&http->events, UV_READABLE, on_events);
    uv_check_start(&http->turn, on_turn);
}

static void on_close_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->cut_off = true; /* who is still sending a request now will not get an answer */
    uv_idle_start(&http->busy, on_busy); /* this turn may be the last for lack of events */
}

/* Serves the connections that the kernel has accepted for us already: closing the socket would
 * reset them. Bounded, since where idle connections take all places the daemon accepts nobody, and
 * since clients that go on connecting must not put off the end. */
static void accept_the_last(struct http *http, int listen_fd)
{
    struct pollfd waiting = {.fd = listen_fd, .events = POLLIN};
    for (int round = 0; round < LAST_ROUNDS && poll(&waiting, 1, 0) > 0; round++)
        MHD_run(http->daemon);
}

void http_close(struct http *http, void (*closed)(void *context), void *context)
{
    http->closed = closed;
    http->context = context;
    http_serve(http); /* whoever waits is answered, even if nobody was so far */
    int listen_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
    accept_the_last(http, listen_fd);
    listen_fd = MHD_quiesce_daemon(http->daemon);
    if (listen_fd >= 0)
        close(listen_fd);
    http->closing = true;
    uv_timer_start(&http->timer, on_close_deadline, CLOSE_DEADLINE_MS, 0);
}
