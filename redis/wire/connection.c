#include "redis/wire/connection.h"

#include "base/memory.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 * 1024,
    KEPT_OUTPUT = 256 * 1024, /* a larger buffer is freed once it is empty */
};

enum connection_state { CONNECTING, HANDSHAKING, OPEN, LOST, CLOSING };

struct connection {
    uv_poll_t poll;
    enum connection_state state;
    int socket;
    int watched; /* of UV_READABLE, UV_WRITABLE */
    struct tls_trust *trust;
    struct tls *tls;
    char *host;
    redisReader *reader;
    size_t input_used; /* bytes used of the reader's buffer since the last wipe */
    char *output;      /* unsent bytes: [output_start, output_end) */
    size_t output_start;
    size_t output_end;
    size_t output_room;
    uint64_t sent;
    struct connection_events events;
};

static void connection_lose(struct connection *connection, int code, const char *reason)
{
    if (connection->state >= LOST)
        return;
    connection->state = LOST;
    uv_poll_stop(&connection->poll);
    connection->events.lost(connection->events.context, code, reason);
}

static void connection_ready(uv_poll_t *poll, int status, int events);

static void connection_watch(struct connection *connection, int events)
{
    if (connection->watched == events)
        return;
    connection->watched = events;
    uv_poll_start(&connection->poll, events, connection_ready);
}

static void connection_established(struct connection *connection)
{
    connection->state = OPEN;
    connection_watch(connection, UV_READABLE);
    connection->events.connected(connection->events.context);
}

static void connection_handshake(struct connection *connection)
{
    bool wants_write = false;
    struct failure failure;
    int result = tls_handshake(connection->tls, &wants_write, &failure);
    if (result == 0)
        connection_established(connection);
    else if (result == -EAGAIN)
        connection_watch(connection, wants_write ? UV_WRITABLE : UV_READABLE);
    else
        connection_lose(connection, result == -EPROTO ? -EPROTO : -EAGAIN, failure.text);
}

static void connection_start_tls(struct connection *connection)
{
    struct failure failure;
    int result = tls_open(&connection->tls, connection->trust, connection->socket, connection->host,
                          &failure);
    if (result < 0) {
        connection_lose(connection, -EPROTO, failure.text);
        return;
    }
    connection->state = HANDSHAKING;
    connection_handshake(connection);
}

static void connection_connected(struct connection *connection)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(connection->socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error)
        connection_lose(connection, -EAGAIN, strerror(error));
    else if (connection->trust)
        connection_start_tls(connection);
    else
        connection_established(connection);
}

static ssize_t connection_receive(struct connection *connection, void *buffer, size_t size)
{
    if (connection->tls)
        return tls_read(connection->tls, buffer, size);
    ssize_t count = recv(connection->socket, buffer, size, 0);
    return count < 0 ? -errno : count;
}

static ssize_t connection_transmit(struct connection *connection, const void *bytes, size_t length)
{
    if (connection->tls)
        return tls_write(connection->tls, bytes, length);
    ssize_t count = send(connection->socket, bytes, length, MSG_NOSIGNAL);
    return count < 0 ? -errno : count;
}

/* The error of a closed connection depends on what was under way; people get one text for all.
 * After an error of TLS another try does not help: Redis wants another certificate from us. */
static void connection_fail(struct connection *connection, int error)
{
    bool closed = error == 0 || error == EPIPE || error == ECONNRESET;
    struct failure failure;
    if (error == EPROTO && connection->tls)
        connection_lose(connection, -EPROTO, tls_error(connection->tls, &failure));
    else
        connection_lose(connection, -EAGAIN, closed ? "the other side closed it" : strerror(error));
}

static bool connection_is_transient(ssize_t result)
{
    return result == -EAGAIN || result == -EINTR;
}

/* The callback of a reply may close the connection, so check the state before each reply. */
static void connection_deliver(struct connection *connection)
{
    while (connection->state == OPEN) {
        void *reply = NULL;
        if (redisReaderGetReply(connection->reader, &reply) != REDIS_OK) {
            connection_lose(connection, -EPROTO,
                            "the server there does not speak the Redis protocol");
            return;
        }
        if (!reply)
            return;
        connection->events.replied(connection->events.context, reply);
        freeReplyObject(reply);
    }
}

static void connection_feed(struct connection *connection, char *bytes, size_t length)
{
    redisReader *reader = connection->reader;
    redisReaderFeed(reader, bytes, length);
    explicit_bzero(bytes, length);
    connection->input_used =
        reader->len > connection->input_used ? reader->len : connection->input_used;
}

/* Messages to the inbox contain tokens, and the reader keeps what it has read. */
static void connection_wipe_input(struct connection *connection)
{
    redisReader *reader = connection->reader;
    if (!reader->buf || reader->pos < reader->len)
        return;
    size_t room = sdsalloc(reader->buf), used = connection->input_used;
    explicit_bzero(reader->buf, used < room ? used : room);
    connection->input_used = 0;
}

bool connection_read(struct connection *connection)
{
    if (connection->state != OPEN)
        return false;
    char buffer[READ_SIZE];
    ssize_t count = connection_receive(connection, buffer, sizeof buffer);
    if (count > 0) {
        connection_feed(connection, buffer, (size_t)count);
        connection_deliver(connection);
        connection_wipe_input(connection);
        return connection->state == OPEN;
    }
    if (!connection_is_transient(count))
        connection_fail(connection, (int)-count);
    return false;
}

/* Reads what arrived before the socket broke, so that answered calls are not in doubt. */
static void connection_broken(struct connection *connection, int error)
{
    while (connection_read(connection))
        ;
    connection_fail(connection, error);
}

static void connection_output_sent(struct connection *connection, size_t count)
{
    explicit_bzero(connection->output + connection->output_start, count); /* tokens, a password */
    connection->sent += count;
    connection->output_start += count;
    if (connection->output_start < connection->output_end)
        return;
    connection->output_start = connection->output_end = 0;
    if (connection->output_room > KEPT_OUTPUT) {
        free(connection->output);
        connection->output = NULL;
        connection->output_room = 0;
    }
}

void connection_push(struct connection *connection, size_t least)
{
    size_t length = connection->output_end - connection->output_start;
    if (connection->state != OPEN || length < least)
        return;
    ssize_t count =
        connection_transmit(connection, connection->output + connection->output_start, length);
    if (count > 0)
        connection_output_sent(connection, (size_t)count);
}

void connection_flush(struct connection *connection)
{
    if (connection->state != OPEN)
        return;
    while (connection->output_end > connection->output_start) {
        ssize_t count =
            connection_transmit(connection, connection->output + connection->output_start,
                                connection->output_end - connection->output_start);
        if (connection_is_transient(count))
            break;
        if (count <= 0) {
            connection_broken(connection, (int)-count);
            return;
        }
        connection_output_sent(connection, (size_t)count);
    }
    bool rest = connection->output_end > connection->output_start;
    connection_watch(connection, rest ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

static void connection_ready(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;
    if (connection->state == CONNECTING) {
        connection_connected(connection);
        return;
    }
    if (connection->state == HANDSHAKING) {
        connection_handshake(connection);
        return;
    }
    if (status < 0) { /* libuv has met POLLERR, and stopped watching */
        connection_broken(connection, ECONNRESET);
        return;
    }
    if (events & UV_READABLE)
        connection_read(connection);
    if (events & UV_WRITABLE)
        connection_flush(connection);
}

/* Ends the process if memory runs out: Redis keeps all that matters, and a supervisor starts the
 * process again. */
static void connection_output_reserve(struct connection *connection, size_t length)
{
    size_t used = connection->output_end - connection->output_start;
    if (connection->output_start > 0) {
        memmove(connection->output, connection->output + connection->output_start, used);
        explicit_bzero(connection->output + used, connection->output_end - used);
        connection->output_start = 0;
        connection->output_end = used;
    }
    if (connection->output_room - used >= length)
        return;
    size_t room = connection->output_room * 2 > used + length ? connection->output_room * 2
                                                              : used + length + 4096;
    connection->output = memory_checked(realloc(connection->output, room));
    connection->output_room = room;
}

uint64_t connection_append(struct connection *connection, const char *bytes, size_t length)
{
    if (connection->output_room - connection->output_end < length)
        connection_output_reserve(connection, length);
    memcpy(connection->output + connection->output_end, bytes, length);
    connection->output_end += length;
    return connection->sent + (connection->output_end - connection->output_start);
}

uint64_t connection_sent(const struct connection *connection)
{
    return connection->sent;
}

/* Close-on-exec, because the embedded server may start while connections are open. */
static int connection_connect_socket(const struct sockaddr *address, socklen_t length)
{
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    int on = 1;
    if (address->sa_family != AF_UNIX)
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(descriptor, address, length) < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

static void connection_free(struct connection *connection)
{
    tls_close(connection->tls);
    if (connection->socket >= 0)
        close(connection->socket);
    if (connection->reader)
        redisReaderFree(connection->reader);
    free(connection->output);
    free(connection->host);
    free(connection);
}

int connection_open(struct connection **ret, uv_loop_t *loop,
                    const struct connection_target *target, const struct connection_events *events)
{
    struct connection *connection = memory_checked(calloc(1, sizeof *connection));
    connection->events = *events;
    connection->trust = target->trust;
    connection->host = target->host ? memory_checked(strdup(target->host)) : NULL;
    connection->reader = memory_checked(redisReaderCreate());

    int result = connection->socket =
        connection_connect_socket(target->address, target->address_length);
    if (result >= 0)
        result = uv_poll_init(loop, &connection->poll, connection->socket);
    if (result < 0) {
        connection_free(connection);
        return result;
    }
    connection->poll.data = connection;
    connection_watch(connection, UV_WRITABLE);
    *ret = connection;
    return 0;
}

static void connection_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct connection_events events = connection->events;
    connection_free(connection);
    events.closed(events.context);
}

bool connection_is_accepted(const struct connection *connection)
{
    return connection->state == HANDSHAKING || connection->state == OPEN;
}

void connection_close(struct connection *connection)
{
    if (!connection || connection->state == CLOSING)
        return;
    connection->state = CLOSING;
    /* Frees the memory later: libuv still holds the handle, and a caller further down the stack may
     * be handing out replies. */
    uv_close((uv_handle_t *)&connection->poll, connection_closed);
}
