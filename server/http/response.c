#include "server/http/response.h"

#include "api/routes.h"
#include "api/stats/health.h"
#include "server/log/journal.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_BLOCK = 1024,       /* piece read at once if a stream is not chunked */
    STREAM_UNSENT = 16 * 1024, /* bytes that the kernel takes before they can be sent */
};

static void response_count_stream(const struct http_request *request, int change)
{
    struct metrics *metrics = context_of(request)->metrics;
    metrics_add(&metrics->streams, change);
    if (route_watches(request->exchange.route))
        metrics_add(&metrics->watchers, change);
}

/* Gives libmicrohttpd what the API has written and is not yet sent. If there is nothing, suspends
 * the connection until there is, and lets the API continue. libmicrohttpd asks when everything
 * before is sent, so the deadline is for each piece, not for the whole stream. */
static ssize_t response_read_stream(void *context, uint64_t position, char *buffer, size_t size)
{
    struct http_request *request = context;
    struct exchange *exchange = &request->exchange;
    (void)position;
    if (request->wait.disconnected || exchange->stream.overflown)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    client_expect(request->client, DEADLINE_REPLY);
    size_t length = exchange_take(exchange, buffer, size);
    if (length == 0 && exchange->stream.finished)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (length == 0) {
        http_request_suspend(request);
        exchange_drained(exchange);
    }
    request->response.bytes_sent += length;
    return (ssize_t)length;
}

/* Keeps little unsent data in the socket of a client that does not read (in Linux; elsewhere it may
 * be megabytes). So such a client is found out soon, and what it reads later is recent. */
static void response_limit_unsent(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){STREAM_UNSENT}, sizeof(int));
}

/* After the head of a reply to HEAD, libmicrohttpd 0.9.75 sends the end of a chunked body. So such
 * a reply is not chunked, and ends its connection. */
static struct MHD_Response *response_of_stream(struct http_request *request)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, response_read_stream, request, NULL);
    if (response && strcmp(request->exchange.head.method, "HEAD") == 0)
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    response_limit_unsent(request->client->fd);
    request->response.streaming = true;
    response_count_stream(request, 1);
    http_request_watch(request);
    return response;
}

/* For requests that wait, only the last part is a latency: from the message about their turn. */
static void response_count_time(const struct http_request *request)
{
    struct metrics *metrics = context_of(request)->metrics;
    const struct exchange *exchange = &request->exchange;
    if (exchange->wait.notified_at)
        metrics_handed_over(metrics, uv_hrtime() - exchange->wait.notified_at);
    else if (request->received_at && !request->wait.waited && !exchange->stream.is_stream)
        metrics_took(metrics, exchange->route, exchange->head.method,
                     uv_hrtime() - request->received_at);
}

static bool response_ends_connection(const struct http_request *request)
{
    const struct request_context *shared = context_of(request);
    return shared->closing || request->response.ends_connection ||
           health_is_leaving(shared->api->health);
}

/* Clients that know when an idle connection ends do not send a request just then. Once all slots
 * are taken, idle connections end sooner (acceptor.c), so shortly before that batond promises
 * nothing. The text is made once, but libmicrohttpd copies name and value into each response. */
static bool response_keeps_connection(const struct http_request *request)
{
    const struct request_context *shared = context_of(request);
    bool is_head_of_stream =
        request->exchange.stream.is_stream && strcmp(request->exchange.head.method, "HEAD") == 0;
    return shared->keep_alive[0] && !request->response.is_last && !is_head_of_stream &&
           !connection_limits_nearly_full(shared->connection_limits);
}

enum MHD_Result response_queue(struct http_request *request)
{
    const struct reply *reply = &request->exchange.reply;
    response_count_time(request);
    struct MHD_Response *response =
        request->exchange.stream.is_stream
            ? response_of_stream(request)
            : MHD_create_response_from_buffer(reply->length, (void *)(uintptr_t)reply->body,
                                              MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < reply->header_count; i++)
        MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    if (reply->content_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    MHD_add_response_header(response, "X-Request-Id", request->exchange.head.request_id);
    if (response_ends_connection(request))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    else if (response_keeps_connection(request))
        MHD_add_response_header(response, "Keep-Alive", context_of(request)->keep_alive);
    client_expect(request->client, DEADLINE_REPLY);
    enum MHD_Result queued = MHD_queue_response(request->connection, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result response_write(struct http_request *request)
{
    const struct reply *reply = &request->exchange.reply;
    bool has_body = strcmp(request->exchange.head.method, "HEAD") != 0;
    char *text;
    int length =
        asprintf(&text,
                 "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                 "X-Request-Id: %s\r\nConnection: close\r\n\r\n%s",
                 reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type,
                 reply->length, request->exchange.head.request_id, has_body ? reply->body : "");
    if (length < 0)
        abort();
    request->response.written = client_write(request->client, text, (size_t)length);
    free(text);
    return MHD_NO;
}

/* Bytes of the reply's body; none for HEAD. */
static uint64_t response_body_bytes(const struct http_request *request)
{
    const struct exchange *exchange = &request->exchange;
    if (exchange->stream.is_stream)
        return request->response.bytes_sent;
    return strcmp(exchange->head.method, "HEAD") == 0 ? 0 : exchange->reply.length;
}

static void response_log(const struct http_request *request, bool delivered)
{
    const struct log *log = context_of(request)->log;
    if (!request->begun || !journal_wants_requests(log))
        return;
    int64_t took_us =
        request->received_at ? (int64_t)(uv_hrtime() - request->received_at) / 1000 : -1;
    journal_answered(log, &(struct outcome){
                              .exchange = &request->exchange,
                              .client = request->client->address_text,
                              .forwarded_for = request->forwarded_for,
                              .took_us = took_us,
                              .bytes = response_body_bytes(request),
                              .delivered = delivered,
                          });
}

/* If a reply was not sent as a whole, its client did not get it; otherwise the client still may not
 * have got it. A client may leave a stream at any time. */
static void response_count(struct http_request *request, enum MHD_RequestTerminationCode code)
{
    struct metrics *metrics = context_of(request)->metrics;
    struct exchange *exchange = &request->exchange;
    if (!exchange->reply.status)
        return;
    metrics_count(metrics, exchange->route, exchange->head.method, exchange->reply.status);
    struct undelivered *undelivered =
        request->response.streaming ? NULL : undelivered_new(exchange);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        client_keep_undelivered(request->client, undelivered);
    } else if (!request->response.streaming) {
        metrics_add(&metrics->undelivered, 1);
        if (undelivered)
            undelivered_take_back(undelivered);
    }
}

void response_completed(struct http_request *request, enum MHD_RequestTerminationCode code)
{
    if (request->response.streaming)
        response_count_stream(request, -1);
    if (request->response.written)
        code = MHD_REQUEST_TERMINATED_COMPLETED_OK;
    response_log(request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (!request->refused_by_library)
        response_count(request, code);
}
