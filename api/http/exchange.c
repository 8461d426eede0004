#include "api/http/exchange.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>

enum { STREAM_LEAST = 512 }; /* bytes, at first, for what is unsent */

/* Adds a header whose value is already at the end of header_text. */
static void add_header(struct exchange *exchange, const char *name, size_t length)
{
    struct reply *reply = &exchange->reply;
    const char *value = exchange->kept.header_text + exchange->kept.header_text_length;
    exchange->kept.header_text_length += length + 1;
    if (exchange->kept.header_text_length > sizeof exchange->kept.header_text ||
        reply->header_count == EXCHANGE_HEADERS)
        abort(); /* the bounds fit the longest reply */
    reply->headers[reply->header_count++] = (struct header){name, value};
}

void reply_header(struct exchange *exchange, const char *name, const char *value, ...)
{
    char *text = exchange->kept.header_text + exchange->kept.header_text_length;
    size_t room = sizeof exchange->kept.header_text - exchange->kept.header_text_length;

    va_list arguments;
    va_start(arguments, value);
    int length = vsnprintf(text, room, value, arguments);
    va_end(arguments);
    if (length < 0)
        abort();
    add_header(exchange, name, (size_t)length);
}

void reply_header_text(struct exchange *exchange, const char *name, struct slice value)
{
    char *text = exchange->kept.header_text + exchange->kept.header_text_length;
    if (value.length < sizeof exchange->kept.header_text - exchange->kept.header_text_length)
        *(char *)mempcpy(text, value.bytes, value.length) = '\0';
    add_header(exchange, name, value.length);
}

void reply_constant(struct exchange *exchange, unsigned status, const char *content_type,
                    const char *body, size_t length)
{
    exchange->reply.status = status;
    exchange->reply.content_type = content_type;
    exchange->reply.body = body;
    exchange->reply.length = length;
}

void reply_owned(struct exchange *exchange, unsigned status, const char *content_type, char *body)
{
    if (!body)
        abort();
    exchange->kept.owned_body = body;
    reply_constant(exchange, status, content_type, body, strlen(body));
}

void reply_json(struct exchange *exchange, unsigned status, const char *content_type,
                json_t *document)
{
    reply_owned(exchange, status, content_type, dump_line(document));
}

void reply_text(struct exchange *exchange, unsigned status, char *text)
{
    reply_owned(exchange, status, "text/plain; charset=utf-8", text);
}

void reply_nothing(struct exchange *exchange, unsigned status)
{
    reply_constant(exchange, status, NULL, "", 0);
}

bool exchange_is_connected(void *exchange)
{
    struct exchange *asked = exchange;
    return asked->is_connected(asked);
}

void exchange_stream(struct exchange *exchange, unsigned status, const char *content_type)
{
    exchange->reply.status = status;
    exchange->reply.content_type = content_type;
    exchange->stream.is_stream = true;
    reply_header(exchange, "Cache-Control", "no-store");
    reply_header(exchange, "X-Accel-Buffering", "no"); /* nginx would buffer lines */
}

/* Room for `length` bytes after the unsent ones. Reuses the taken bytes' room once there are at
 * least as many of them as unsent ones to move: so each byte moves about once at most. */
static char *stream_reserve(struct stream *stream, size_t length)
{
    size_t needed = stream->length + length;
    if (stream->taken >= stream->length && needed <= stream->room) {
        memcpy(stream->bytes, stream->bytes + stream->taken, stream->length);
        stream->taken = 0;
    } else if (stream->taken + needed > stream->room) {
        size_t room = needed < STREAM_LEAST ? STREAM_LEAST : needed + needed / 2;
        char *bytes = memory_checked(malloc(room));
        if (stream->length > 0)
            memcpy(bytes, stream->bytes + stream->taken, stream->length);
        free(stream->bytes);
        stream->bytes = bytes;
        stream->room = room;
        stream->taken = 0;
    }
    return stream->bytes + stream->taken + stream->length;
}

/* One write may exceed the bound: it limits what the client left unread before. */
void exchange_write(struct exchange *exchange, const char *bytes, size_t length)
{
    struct stream *stream = &exchange->stream;
    if (stream->length > EXCHANGE_STREAM_LONGEST) {
        stream->overflown = true;
    } else if (!stream->overflown && length > 0) {
        memcpy(stream_reserve(stream, length), bytes, length);
        stream->length += length;
    }
    exchange->streamed(exchange);
}

static void stream_forget(struct stream *stream)
{
    free(stream->bytes);
    stream->bytes = NULL;
    stream->taken = stream->length = stream->room = 0;
}

size_t exchange_take(struct exchange *exchange, char *buffer, size_t size)
{
    struct stream *stream = &exchange->stream;
    size_t length = stream->length < size ? stream->length : size;
    if (length == 0)
        return 0;
    memcpy(buffer, stream->bytes + stream->taken, length);
    stream->taken += length;
    stream->length -= length;
    if (stream->length == 0)
        stream_forget(stream);
    return length;
}

void exchange_drained(struct exchange *exchange)
{
    if (exchange->drained && !exchange->stream.finished)
        exchange->drained(exchange);
}

void exchange_finish(struct exchange *exchange)
{
    exchange->stream.finished = true;
    exchange->streamed(exchange);
}
