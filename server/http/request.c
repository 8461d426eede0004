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
    SWALLOWED_MOST = 1 << 20, /* bytes of a body that is too long */
    HEAD_MOST = 6 * 1024,     /* of CONNECTION_MEMORY; the rest is for the head of the reply */
};

/* The API reads the query. The library would take it apart too, into memory that the head of the
 * reply needs: with some 115 parameters version 0.9 is left with none, and falls silent. It looks
 * for them from behind the ? on, after this. */
static void leave_query(const char *target)
{
    char *query = strchr(target, '?');
    if (query)
        query[1] = '\0';
}

void *request_new(void *context, const char *target, struct MHD_Connection *connection)
{
    size_t length = strlen(target);
    struct record *record = memory_checked(calloc(1, sizeof *record + length + 1));
    record->daemon = context;
    record->connection = connection;
    record->client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    client_asks(record->client);
    memcpy(record->target, target, length);
    leave_query(target);
    record->daemon->shared->under_way++;
    return record;
}

static int socket_of(const struct record *record)
{
    return record->client->fd;
}

void request_suspend(struct record *record)
{
    client_expect(record->client, DEADLINE_NONE);
    record->suspended = true;
    context_of(record)->suspended++;
    MHD_suspend_connection(record->connection);
}

/* From the loop alone, outside of MHD_run, where a resume is seen at once. */
static void resume(struct record *record)
{
    record->suspended = false;
    context_of(record)->suspended--;
    MHD_resume_connection(record->connection);
    record->daemon->resumed(record->daemon);
}

static bool is_request_id(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    return length >= 1 && length <= EXCHANGE_REQUEST_ID_LENGTH &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

/* Who a TLS client is by its certificate; NULL where it has shown none. */
static const char *client_of(const struct record *record)
{
    return https_session_client(&record->client->tls);
}

/* Counts it among those that wait, or with -1 no more. */
static void count_waiting(const struct record *record, int change)
{
    struct metrics *metrics = context_of(record)->metrics;
    bool watches = route_watches(record->exchange.route);
    metrics_add(&metrics->waiting, change);
    metrics_add(watches ? &metrics->watchers : &metrics->waiters, change);
}

static void begin_waiting(struct record *record)
{
    record->waiting = record->waited = true;
    count_waiting(record, 1);
}

/* The wait of a request has ended, in whatever way. First its client is answered. */
static void stop_waiting(struct record *record)
{
    disconnect_watch_pause(&record->watch);
    if (record->waiting)
        count_waiting(record, -1);
    record->waiting = false;
}

/* The API has answered a parked exchange. */
static void answered(struct exchange *exchange)
{
    struct record *record = (struct record *)exchange;
    stop_waiting(record);
    resume(record);
}

/* A stream has more to send, or is complete. A client that does not read is hung up on, and then
 * taken for gone like any other, by the loop: the API is in the midst of writing. */
static void streamed(struct exchange *exchange)
{
    struct record *record = (struct record *)exchange;
    if (!record->streaming)
        return;
    if (exchange->stream.overflown)
        shutdown(socket_of(record), SHUT_RDWR);
    if (record->suspended)
        resume(record);
}

static bool has_gone(const struct record *record)
{
    return has_disconnected(socket_of(record), record->client->tls.session);
}

/* What is sent to a client that has gone looks delivered. */
static bool is_connected(struct exchange *exchange)
{
    return !has_gone((struct record *)exchange);
}

/* For the log. A proxy adds its field behind those that a client has sent. */
static void note_origin(struct record *record, const struct headers *headers)
{
    const char *traceparent = headers->first[HEADER_TRACEPARENT];
    const char *forwarded_for = headers->last[HEADER_FORWARDED_FOR];
    bool is_proxy = !record->client->address;
    if (traceparent && !headers_repeat(headers, HEADER_TRACEPARENT))
        forwarded_trace_id(traceparent, record->exchange.trace_id);
    if (is_proxy && forwarded_for && journal_wants_requests(context_of(record)->log))
        forwarded_client(forwarded_for, record->forwarded_for);
}

/* The body's, as it is announced; 0: it is not. */
static uint64_t length_of(const struct headers *headers)
{
    const char *length = headers->first[HEADER_CONTENT_LENGTH];
    return length ? strtoull(length, NULL, 10) : 0;
}

static void begin(struct record *record, const char *method, const struct headers *headers)
{
    struct exchange *exchange = &record->exchange;
    const char *request_id = headers->first[HEADER_REQUEST_ID];
    record->begun = true;
    client_expect(record->client, DEADLINE_BODY);
    exchange->is_admin = context_of(record)->is_admin;
    exchange->method = method;
    exchange->target = record->target;
    exchange->content_type = headers->first[HEADER_CONTENT_TYPE];
    exchange->content_encoding = headers->first[HEADER_CONTENT_ENCODING];
    exchange->accept = headers->first[HEADER_ACCEPT];
    exchange->lock_token = headers->first[HEADER_LOCK_TOKEN];
    exchange->lock_token_repeated = headers_repeat(headers, HEADER_LOCK_TOKEN);
    exchange->authorization = headers->first[HEADER_AUTHORIZATION];
    exchange->authorization_repeated = headers_repeat(headers, HEADER_AUTHORIZATION);
    exchange->certificate = client_of(record);
    exchange->if_none_match = headers->first[HEADER_IF_NONE_MATCH];
    exchange->last_event_id = headers->first[HEADER_LAST_EVENT_ID];
    exchange->host = headers->first[HEADER_HOST];
    exchange->origin = headers->first[HEADER_ORIGIN];
    exchange->fetch_site = headers->first[HEADER_FETCH_SITE];
    exchange->is_from_script = headers->first[HEADER_REQUESTED_WITH] != NULL;
    exchange->has_body = headers->first[HEADER_TRANSFER_ENCODING] || length_of(headers) > 0;
    exchange->answered = answered;
    exchange->is_connected = is_connected;
    exchange->streamed = streamed;
    note_origin(record, headers);
    if (is_request_id(request_id))
        snprintf(exchange->request_id, sizeof exchange->request_id, "%s", request_id);
    else
        token_make(&context_of(record)->api->randomness, exchange->request_id);
}

/* Keeps a piece of the body; what is too long is read and dropped, since a reply cannot be queued
 * before the body has ended. Where there is no end to it, the connection ends. */
static enum MHD_Result keep(struct record *record, const char *bytes, size_t length)
{
    record->received += length;
    record->too_large = record->received > EXCHANGE_BODY_LONGEST;
    if (record->too_large || record->exchange.drops_body)
        return record->received > SWALLOWED_MOST ? MHD_NO : MHD_YES;
    char *body = memory_checked(realloc(record->body, record->received));
    memcpy(body + record->received - length, bytes, length);
    record->body = body;
    return MHD_YES;
}

/* The API lets go of what the exchange waits for, once. */
static void tell_gone(struct record *record)
{
    void (*hung_up)(struct exchange *) = record->exchange.hung_up;
    record->gone = true;
    record->exchange.hung_up = NULL;
    if (hung_up)
        hung_up(&record->exchange);
}

/* The client of a waiting request or of a stream has gone: the connection ends without more. Where
 * libmicrohttpd is at work on it, it is to find it closed. */
static void request_on_hung_up(struct disconnect_watch *watch)
{
    struct record *record =
        (struct record *)(void *)((char *)watch - offsetof(struct record, watch));
    metrics_add(&context_of(record)->metrics->hung_up, 1);
    stop_waiting(record);
    tell_gone(record);
    if (record->suspended)
        resume(record);
    else
        shutdown(watch->fd, SHUT_RDWR);
}

void request_watch(struct record *record)
{
    disconnect_watch_start(context_of(record)->watches, &record->watch, socket_of(record),
                           record->client->tls.session, request_on_hung_up);
}

/* Answers what the API has refused by its head. Where nobody knows where the request ends, or a
 * body is yet to come, the connection ends with it. (So far, libmicrohttpd closes after every early
 * answer by itself, but promises nothing.) */
static enum MHD_Result refuse(struct record *record)
{
    record->refused = true;
    return response_queue(record);
}

static enum MHD_Result refuse_head(struct record *record)
{
    record->refused = true;
    api_refuse_head(context_of(record)->api, &record->exchange, HEAD_MOST);
    return response_write(record);
}

/* Who asks is judged before any of the body is read; a request without one is answered when it is
 * complete, which is in the next call. */
static enum MHD_Result admit(struct record *record, const struct headers *headers)
{
    struct exchange *exchange = &record->exchange;
    if (!api_admit(context_of(record)->api, exchange)) {
        record->complete = uv_hrtime();
        return exchange->has_body ? refuse(record) : MHD_YES;
    }
    if (length_of(headers) <= SWALLOWED_MOST)
        return MHD_YES;
    api_refuse_body(exchange);
    return refuse(record);
}

static size_t head_length(const struct record *record)
{
    return MHD_get_connection_info(record->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        ->header_size;
}

/* The first call. No piece of a body is at hand yet, so it can be answered at once. */
static enum MHD_Result enter(struct record *record, const char *method, const char *refusal)
{
    struct headers headers;
    headers_read(record->connection, &headers);
    begin(record, method, &headers);
    if (head_length(record) + headers.memory > HEAD_MOST)
        return refuse_head(record);
    if (!refusal)
        return admit(record, &headers);
    api_refuse_request(context_of(record)->api, &record->exchange, refusal);
    return refuse(record);
}

/* Nothing refers to the body once it has been read. */
static void drop_body(struct record *record)
{
    free(record->body);
    record->body = NULL;
    record->exchange.body = slice_of(NULL);
}

static enum handling hand_over(struct record *record)
{
    struct exchange *exchange = &record->exchange;
    if (record->too_large) {
        api_refuse_body(exchange);
        return ANSWERED;
    }
    exchange->body = (struct slice){record->body, record->received};
    return api_handle(exchange);
}

static enum MHD_Result handle(struct record *record)
{
    record->complete = uv_hrtime();
    enum handling handling = hand_over(record);
    drop_body(record);
    if (handling == ANSWERED)
        return response_queue(record);
    if (handling == WAITING) {
        begin_waiting(record);
        request_watch(record);
    }
    request_suspend(record);
    return MHD_YES;
}

/* A grant is not told to a client that has hung up: the connection ends without a reply, so that
 * request_completed has it taken back. */
static enum MHD_Result send_parked(struct record *record)
{
    if (record->gone || (api_has_granted(&record->exchange) && has_gone(record)))
        return MHD_NO;
    return response_queue(record);
}

/* libmicrohttpd calls this when the header is complete, for each piece of the body, when the body
 * is complete, and again after a resume. */
enum MHD_Result request_step(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_length, void **place)
{
    struct record *record = *place;
    (void)context;
    if (!record->begun)
        return enter(record, method,
                     request_head_refusal(connection, record->target, url, method, version));
    if (*upload_length > 0) {
        size_t length = *upload_length;
        *upload_length = 0;
        return keep(record, upload, length);
    }
    return record->gone || record->exchange.reply.status ? send_parked(record) : handle(record);
}

/* The library has refused a request by itself, before its handler was called, or given it up
 * because its head leaves no memory to say so. That belongs into the log as well. The method is not
 * known to have come. */
static void note_refusal(struct record *record, enum MHD_RequestTerminationCode code)
{
    static const struct headers NONE;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(record->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    bool is_given_up = code == MHD_REQUEST_TERMINATED_WITH_ERROR && !info &&
                       record->client->deadline.kind == DEADLINE_HEAD && !has_gone(record);
    if (record->begun || (!info && !is_given_up))
        return;
    begin(record, "-", &NONE);
    record->unheard = true;
    if (is_given_up) {
        refuse_head(record);
        return;
    }
    record->refused = record->written = true;
    record->exchange.reply.status = info->http_status;
}

/* A stream may end here without its client having been seen to go, as the answer to HEAD does: then
 * exchange_clear tells the API. */
void request_completed(void *context, struct MHD_Connection *connection, void **place,
                       enum MHD_RequestTerminationCode code)
{
    struct record *record = *place;
    (void)context, (void)connection;
    if (!record)
        return;
    *place = NULL;
    note_refusal(record, code);
    record->client->lingers |= record->refused;
    client_expect(record->client, DEADLINE_IDLE);
    stop_waiting(record);
    disconnect_watch_stop(context_of(record)->watches, &record->watch);
    response_completed(record, code);
    exchange_clear(&record->exchange);
    context_of(record)->under_way--;
    free(record->body);
    free(record);
}
