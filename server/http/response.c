#include "server/http/response.h"

#include "api/routes.h"
#include "api/stats/health.h"
#include "server/log/journal.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_BLOCK = 1024,       /* the piece that is read at once where a stream is not chunked */
    STREAM_UNSENT = 16 * 1024, /* bytes that the kernel takes over before they can be sent */
};

static void count_streaming(const struct record *record, int change)
{
    struct metrics *metrics = context_of(record)->metrics;
    metrics_add(&metrics->streams, change);
    if (route_watches(record->exchange.route))
        metrics_add(&metrics->watchers, change);
}

/* Hands libmicrohttpd what was written and not yet sent; where there is nothing, the connection is
 * suspended until there is, and the API may look for more. It asks when all before has been sent,
 * so each piece has a time to be read, and the stream as a whole has not. */
static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t size)
{
    struct record *record = context;
    struct exchange *exchange = &record->exchange;
    (void)position;
    if (record->gone || exchange->stream.overflown)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    client_expect(record->client, DEADLINE_REPLY);
    size_t length = exchange_take(exchange, buffer, size);
    if (length == 0 && exchange->stream.finished)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (length == 0) {
        request_suspend(record);
        exchange_drained(exchange);
    }
    record->sent += length;
    return (ssize_t)length;
}

/* A client that does not read has this much unsent in its socket (in Linux; elsewhere as much as
 * the socket takes, which may be some megabytes), so that it is found out soon, and what it gets
 * once it reads is new. */
static void keep_little_in_the_kernel(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){STREAM_UNSENT}, sizeof(int));
}

/* Behind the head that answers HEAD, libmicrohttpd 0.9.75 sends the end of a chunked body: there
 * the connection ends the reply. */
static struct MHD_Response *stream_response(struct record *record)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, record, NULL);
    if (response && strcmp(record->exchange.method, "HEAD") == 0)
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    keep_little_in_the_kernel(record->client->fd);
    record->streaming = true;
    count_streaming(record, 1);
    request_watch(record);
    return response;
}

static struct MHD_Response *plain_response(const struct reply *reply)
{
    return MHD_create_response_from_buffer(reply->length, (void *)(uintptr_t)reply->body,
                                           MHD_RESPMEM_PERSISTENT);
}

/* How long those take that wait says nothing of how quick anything is, but for the last part: from
 * hearing that it is their turn. */
static void count_time(const struct record *record)
{
    struct metrics *metrics = context_of(record)->metrics;
    const struct exchange *exchange = &record->exchange;
    if (exchange->heard)
        metrics_handed_over(metrics, uv_hrtime() - exchange->heard);
    else if (record->complete && !record->waited && !exchange->stream.is_stream)
        metrics_took(metrics, exchange->route, exchange->method, uv_hrtime() - record->complete);
}

/* Whether the connection ends with this reply. */
static bool is_last(const struct record *record)
{
    const struct request_context *shared = context_of(record);
    return shared->closing || record->refused || health_is_leaving(shared->api->health);
}

enum MHD_Result response_queue(struct record *record)
{
    const struct reply *reply = &record->exchange.reply;
    count_time(record);
    struct MHD_Response *response =
        record->exchange.stream.is_stream ? stream_response(record) : plain_response(reply);
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < reply->header_count; i++)
        MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    if (reply->content_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    MHD_add_response_header(response, "X-Request-Id", record->exchange.request_id);
    if (is_last(record))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    client_expect(record->client, DEADLINE_REPLY);
    enum MHD_Result queued = MHD_queue_response(record->connection, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result response_write(struct record *record)
{
    const struct reply *reply = &record->exchange.reply;
    bool has_body = strcmp(record->exchange.method, "HEAD") != 0;
    char *text;
    int length =
        asprintf(&text,
                 "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                 "X-Request-Id: %s\r\nConnection: close\r\n\r\n%s",
                 reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type,
                 reply->length, record->exchange.request_id, has_body ? reply->body : "");
    if (length < 0)
        abort();
    record->written = client_write(record->client, text, (size_t)length);
    free(text);
    return MHD_NO;
}

/* Of the reply's body. Who sends HEAD gets none. */
static uint64_t bytes_sent(const struct record *record)
{
    const struct exchange *exchange = &record->exchange;
    if (exchange->stream.is_stream)
        return record->sent;
    return strcmp(exchange->method, "HEAD") == 0 ? 0 : exchange->reply.length;
}

static void write_down(const struct record *record, bool delivered)
{
    const struct log *log = context_of(record)->log;
    if (!record->begun || !journal_wants_requests(log))
        return;
    int64_t took_us = record->complete ? (int64_t)(uv_hrtime() - record->complete) / 1000 : -1;
    journal_answered(log, &(struct outcome){
                              .exchange = &record->exchange,
                              .client = record->client->place,
                              .forwarded_for = record->forwarded_for,
                              .took_us = took_us,
                              .bytes = bytes_sent(record),
                              .delivered = delivered,
                          });
}

/* A reply that was not sent as a whole did not reach its client, and one that was may not. A stream
 * that its client leaves is an ordinary end of it. */
static void count(struct record *record, enum MHD_RequestTerminationCode code)
{
    struct metrics *metrics = context_of(record)->metrics;
    struct exchange *exchange = &record->exchange;
    if (!exchange->reply.status)
        return;
    metrics_count(metrics, exchange->route, exchange->method, exchange->reply.status);
    struct undelivered *told = record->streaming ? NULL : undelivered_new(exchange);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        client_told(record->client, told);
    } else if (!record->streaming) {
        metrics_add(&metrics->undelivered, 1);
        if (told)
            undelivered_take_back(told);
    }
}

void response_completed(struct record *record, enum MHD_RequestTerminationCode code)
{
    if (record->streaming)
        count_streaming(record, -1);
    if (record->written)
        code = MHD_REQUEST_TERMINATED_COMPLETED_OK;
    write_down(record, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (!record->unheard)
        count(record, code);
}
