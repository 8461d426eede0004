#include "server/http/request.h"

#include "api/access/completion.h"
#include "api/routes.h"
#include "base/memory.h"
#include "server/http/forwarded.h"
#include "server/http/headers.h"
#include "server/http/request_head.h"
#include "server/http/response.h"
#include "server/log/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    SWALLOWED_MOST = 1 << 20, /* bytes read of a body that is too long */
    HEAD_MOST = 6 * 1024,     /* of CONNECTION_MEMORY; the rest is for the head of the reply */
};

/* Hides the query from the library, since the API parses it. The library would parse it, too, after
 * this, into memory that the head of the reply needs: with some 115 parameters, version 0.9 has
 * none left and sends nothing. */
static void request_hide_query(const char *target)
{
    char *query = strchr(target, '?');
    if (query)
        query[1] = '\0';
}

void *http_request_new(void *context, const char *target, struct MHD_Connection *connection)
{
    size_t length = strlen(target);
    struct http_request *request = memory_checked(calloc(1, sizeof *request + length + 1));
    request->daemon = context;
    request->connection = connection;
    request->client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    client_begin_request(request->client);
    memcpy(request->target, target, length);
    request_hide_query(target);
    request->daemon->shared->under_way++;
    LIST_INSERT_HEAD(&request->daemon->arriving, request, others);
    return request;
}

void http_request_suspend(struct http_request *request)
{
    client_expect(request->client, DEADLINE_NONE);
    request->wait.suspended = true;
    context_of(request)->suspended++;
    MHD_suspend_connection(request->connection);
}

/* Call this from the loop, not from inside MHD_run, where a resume is not seen at once. */
static void request_resume(struct http_request *request)
{
    request->wait.suspended = false;
    context_of(request)->suspended--;
    MHD_resume_connection(request->connection);
    request->daemon->resumed(request->daemon);
}

static bool is_request_id(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    return length >= 1 && length <= EXCHANGE_REQUEST_ID_LENGTH &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

/* With 1 the request counts as waiting, with -1 no longer. */
static void request_count_waiting(const struct http_request *request, int change)
{
    struct metrics *metrics = context_of(request)->metrics;
    bool watches = route_watches(request->exchange.route);
    metrics_add(&metrics->waiting, change);
    metrics_add(watches ? &metrics->watchers : &metrics->waiters, change);
}

static void request_stop_waiting(struct http_request *request)
{
    disconnect_watch_pause(&request->wait.watch);
    if (request->wait.waiting)
        request_count_waiting(request, -1);
    request->wait.waiting = false;
}

/* The API has answered a suspended request. */
static void request_on_answered(struct exchange *exchange)
{
    struct http_request *request = (struct http_request *)exchange;
    request_stop_waiting(request);
    request_resume(request);
}

/* A stream has more to send, or is complete. A client that does not read is disconnected: this
 * shuts its socket down, and disconnect_watch notices that from the loop. Ending the request here
 * would free the exchange while the API writes to it. */
static void request_on_streamed(struct exchange *exchange)
{
    struct http_request *request = (struct http_request *)exchange;
    if (!request->response.streaming)
        return;
    if (exchange->stream.overflown)
        shutdown(request->client->fd, SHUT_RDWR);
    if (request->wait.suspended)
        request_resume(request);
}

/* Asks the kernel. Call this right before a grant is sent: the kernel accepts a reply to a client
 * that has disconnected, and then the lock would be held until its TTL ends. */
static bool request_is_connected(struct exchange *exchange)
{
    const struct client *client = ((struct http_request *)exchange)->client;
    return !has_disconnected(client->fd, client->tls.session);
}

/* A proxy adds its field after those that the client has sent. */
static void request_note_origin(struct http_request *request, const struct headers *headers)
{
    const char *traceparent = headers->first[HEADER_TRACEPARENT];
    const char *forwarded_for = headers->last[HEADER_FORWARDED_FOR];
    bool is_proxy = !request->client->address;
    if (traceparent && !headers_repeat(headers, HEADER_TRACEPARENT))
        forwarded_trace_id(traceparent, request->exchange.head.trace_id);
    if (is_proxy && forwarded_for)
        forwarded_client(forwarded_for, request->forwarded_for);
    request->exchange.head.client =
        request->forwarded_for[0] ? request->forwarded_for : request->client->address_text;
}

/* The announced length of the body; 0: none is announced. */
static uint64_t request_content_length(const struct headers *headers)
{
    const char *length = headers->first[HEADER_CONTENT_LENGTH];
    return length ? strtoull(length, NULL, 10) : 0;
}

static void request_read_head(struct http_request *request, const char *method,
                              const struct headers *headers)
{
    struct exchange *exchange = &request->exchange;
    const char *request_id = headers->first[HEADER_REQUEST_ID];
    request->begun = true;
    LIST_REMOVE(request, others);
    client_expect(request->client, DEADLINE_BODY);
    exchange->head.is_admin = context_of(request)->is_admin;
    exchange->head.method = method;
    exchange->head.target = request->target;
    exchange->head.content_type = headers->first[HEADER_CONTENT_TYPE];
    exchange->head.content_encoding = headers->first[HEADER_CONTENT_ENCODING];
    exchange->head.accept = headers->first[HEADER_ACCEPT];
    exchange->head.lock_token = headers->first[HEADER_LOCK_TOKEN];
    exchange->head.lock_token_repeated = headers_repeat(headers, HEADER_LOCK_TOKEN);
    exchange->head.authorization = headers->first[HEADER_AUTHORIZATION];
    exchange->head.authorization_repeated = headers_repeat(headers, HEADER_AUTHORIZATION);
    exchange->head.has_x_lock_token = headers->first[HEADER_X_LOCK_TOKEN] != NULL;
    exchange->head.has_idempotency_key = headers->first[HEADER_IDEMPOTENCY_KEY] != NULL;
    exchange->head.certificate = https_session_client(&request->client->tls);
    exchange->head.if_none_match = headers->first[HEADER_IF_NONE_MATCH];
    exchange->head.last_event_id = headers->first[HEADER_LAST_EVENT_ID];
    exchange->head.host = headers->first[HEADER_HOST];
    exchange->head.origin = headers->first[HEADER_ORIGIN];
    exchange->head.fetch_site = headers->first[HEADER_FETCH_SITE];
    exchange->head.is_from_script = headers->first[HEADER_REQUESTED_WITH] != NULL;
    exchange->head.has_body =
        headers->first[HEADER_TRANSFER_ENCODING] || request_content_length(headers) > 0;
    exchange->answered = request_on_answered;
    exchange->is_connected = request_is_connected;
    exchange->streamed = request_on_streamed;
    request_note_origin(request, headers);
    if (is_request_id(request_id))
        snprintf(exchange->head.request_id, sizeof exchange->head.request_id, "%s", request_id);
    else
        token_make(&context_of(request)->api->randomness, exchange->head.request_id);
}

/* Keeps a piece of the body. Reads and drops a body that is too long, since no reply can be queued
 * before its end; if it does not end, the connection does. */
static enum MHD_Result request_keep_body(struct http_request *request, const char *bytes,
                                         size_t length)
{
    size_t kept = request->exchange.drops_body ? EXCHANGE_DROPPED_BODY_KEPT : EXCHANGE_BODY_LONGEST;
    request->body.received += length;
    if (request->body.received > kept && request->exchange.drops_body) {
        free(request->body.bytes);
        request->body.bytes = NULL;
    }
    if (request->body.received > kept)
        return request->body.received > SWALLOWED_MOST ? MHD_NO : MHD_YES;
    char *body = memory_checked(realloc(request->body.bytes, request->body.received));
    memcpy(body + request->body.received - length, bytes, length);
    request->body.bytes = body;
    return MHD_YES;
}

/* The client of a waiting request or of a stream has disconnected: the connection ends without a
 * reply. If libmicrohttpd is at work on it, it finds the socket shut down. */
static void request_on_disconnect(struct disconnect_watch *watch)
{
    struct http_request *request =
        (struct http_request *)(void *)((char *)watch - offsetof(struct http_request, wait.watch));
    void (*hung_up)(struct exchange *) = request->exchange.hung_up;
    metrics_add(&context_of(request)->metrics->hung_up, 1);
    request_stop_waiting(request);
    request->wait.disconnected = true;
    request->exchange.hung_up = NULL; /* the API is notified once */
    if (hung_up)
        hung_up(&request->exchange);
    if (request->wait.suspended)
        request_resume(request);
    else
        shutdown(watch->fd, SHUT_RDWR);
}

void http_request_watch(struct http_request *request)
{
    disconnect_watch_start(context_of(request)->watches, &request->wait.watch, request->client->fd,
                           request->client->tls.session, request_on_disconnect);
}

/* Queues the API's refusal of a request by its head. The connection ends with it, since the end of
 * the request is unknown, or a body is yet to come. (So far libmicrohttpd itself closes after every
 * early reply, but does not promise it.) */
static enum MHD_Result request_refuse(struct http_request *request)
{
    request->response.ends_connection = true;
    return response_queue(request);
}

static enum MHD_Result request_refuse_head(struct http_request *request)
{
    request->response.ends_connection = true;
    api_refuse_head(context_of(request)->api, &request->exchange, HEAD_MOST);
    return response_write(request);
}

/* The API judges the caller before any of the body is read. A request without a body is answered
 * when it is complete, in the next call. */
static enum MHD_Result request_admit(struct http_request *request, const struct headers *headers)
{
    struct exchange *exchange = &request->exchange;
    if (!api_admit(context_of(request)->api, exchange)) {
        request->received_at = uv_hrtime();
        return exchange->head.has_body ? request_refuse(request) : MHD_YES;
    }
    if (request_content_length(headers) <= SWALLOWED_MOST)
        return MHD_YES;
    api_refuse_body(exchange);
    return request_refuse(request);
}

/* Whether the request makes the library end the connection with the reply. */
static bool request_is_last(const char *version, const char *connection)
{
    return strcmp(version, MHD_HTTP_VERSION_1_1) != 0 ||
           (connection && strcasestr(connection, "close"));
}

/* The first call. No piece of a body has come yet, so a reply can be queued at once. */
static enum MHD_Result request_begin(struct http_request *request, const char *method,
                                     const char *version, const char *refusal)
{
    struct headers headers;
    headers_read(request->connection, &headers);
    request_read_head(request, method, &headers);
    if (headers.first[HEADER_TRANSFER_ENCODING] && request_head_is_0_9())
        request->body.chunks.start = method + request_head_length(request->connection);
    request->response.is_last = request_is_last(version, headers.first[HEADER_CONNECTION]);
    if (request_head_length(request->connection) + headers.memory > HEAD_MOST)
        return request_refuse_head(request);
    if (!refusal)
        return request_admit(request, &headers);
    api_refuse_request(context_of(request)->api, &request->exchange, refusal);
    return request_refuse(request);
}

static enum MHD_Result request_handle(struct http_request *request)
{
    struct exchange *exchange = &request->exchange;
    enum handling handling = ANSWERED;
    request->received_at = uv_hrtime();
    chunk_check_end(&request->body.chunks, request->daemon->runs);
    if (request->body.received > EXCHANGE_BODY_LONGEST) {
        api_refuse_body(exchange);
    } else if (request->body.chunks.has_bare_feed) {
        request->response.ends_connection = true;
        api_refuse_request(context_of(request)->api, exchange,
                           "A line between the chunks of the body ends with LF alone. End every "
                           "line with CR LF.");
    } else {
        exchange->body = (struct slice){request->body.bytes, request->body.received};
        handling = api_handle(exchange);
    }
    free(request->body.bytes); /* nothing refers to the body once it has been read */
    request->body.bytes = NULL;
    exchange->body = slice_of(NULL);
    if (handling == ANSWERED)
        return response_queue(request);
    if (handling == WAITING) {
        request->wait.waiting = request->wait.waited = true;
        request_count_waiting(request, 1);
        http_request_watch(request);
    }
    http_request_suspend(request);
    return MHD_YES;
}

/* A client that has disconnected gets no grant: the connection ends without a reply, and
 * http_request_completed takes the grant back. */
static enum MHD_Result request_send_reply(struct http_request *request)
{
    if (request->wait.disconnected ||
        (api_has_granted(&request->exchange) && !request_is_connected(&request->exchange)))
        return MHD_NO;
    return response_queue(request);
}

/* libmicrohttpd calls this when the head is complete, for each piece of the body, when the body is
 * complete, and after a resume. */
enum MHD_Result http_request_step(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **state)
{
    struct http_request *request = *state;
    (void)context;
    if (!request->begun)
        return request_begin(
            request, method, version,
            request_head_refusal(connection, request->target, url, method, version));
    if (*upload_length > 0) {
        size_t length = *upload_length;
        *upload_length = 0;
        enum MHD_Result result = request_keep_body(request, upload, length);
        chunk_check_piece(&request->body.chunks, upload, length, request->daemon->runs);
        return result;
    }
    return request->wait.disconnected || request->exchange.reply.status
               ? request_send_reply(request)
               : request_handle(request);
}

/* Whether libmicrohttpd is about to refuse a request whose head is complete. */
static bool request_is_being_refused(const struct http_request *request)
{
    return MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) &&
           !MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
}

/* libmicrohttpd 0.9 writes two heads if it refuses a request for its Content-Length, or because
 * cookies leave no memory. It logs that before. So the client gets our reply, and nothing after
 * it. */
static void request_forestall(struct http_request *request)
{
    struct headers headers;
    const char *refusal = request_head_field_refusal(request->connection);
    headers_read(request->connection, &headers);
    request_read_head(request, "-", &headers);
    if (refusal) {
        api_refuse_request(context_of(request)->api, &request->exchange, refusal);
        request->response.ends_connection = true;
        response_write(request);
    } else {
        request_refuse_head(request);
    }
    https_session_send_close_notify(&request->client->tls);
    shutdown(request->client->fd, SHUT_WR);
}

void http_request_on_log(void *context, const char *format, va_list arguments)
{
    struct daemon_context *daemon = context;
    struct http_request *request;
    (void)format, (void)arguments; /* malformed requests are not worth a line each */
    if (!request_head_is_0_9())
        return;
    LIST_FOREACH (request, &daemon->arriving, others)
        if (request_is_being_refused(request)) {
            request_forestall(request);
            return;
        }
}

/* libmicrohttpd refused a request before it called the access handler, or gave it up because the
 * head left no memory for a reply. Logs a line about it, without the method, which may not have
 * come. */
static void request_note_library_refusal(struct http_request *request,
                                         enum MHD_RequestTerminationCode code)
{
    static const struct headers NONE;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    bool is_given_up = code == MHD_REQUEST_TERMINATED_WITH_ERROR && !info &&
                       request->client->deadline.kind == DEADLINE_HEAD &&
                       request_is_connected(&request->exchange);
    if (request->begun || (!info && !is_given_up))
        return;
    request_read_head(request, "-", &NONE);
    request->refused_by_library = true;
    if (is_given_up) {
        request_refuse_head(request);
        return;
    }
    request->response.ends_connection = request->response.written = true;
    request->exchange.reply.status = info->http_status;
}

/* A stream may end here although no disconnect was seen, such as the reply to HEAD: then
 * exchange_clear notifies the API. */
void http_request_completed(void *context, struct MHD_Connection *connection, void **state,
                            enum MHD_RequestTerminationCode code)
{
    struct http_request *request = *state;
    (void)context, (void)connection;
    if (!request)
        return;
    *state = NULL;
    request_note_library_refusal(request, code);
    if (!request->begun)
        LIST_REMOVE(request, others);
    request->client->lingers |= request->response.ends_connection;
    client_expect(request->client, DEADLINE_IDLE);
    request_stop_waiting(request);
    disconnect_watch_stop(context_of(request)->watches, &request->wait.watch);
    response_completed(request, code);
    exchange_clear(&request->exchange);
    context_of(request)->under_way--;
    free(request->body.bytes);
    free(request);
}
