/* connection.h: one socket to Redis on a loop: sends commands once a turn, and hands out replies in
 * order. */
#ifndef BATON_REDIS_WIRE_CONNECTION_H
#define BATON_REDIS_WIRE_CONNECTION_H

#include "redis/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

/* hiredis parses the replies; Baton owns the socket. Baton does not use the asynchronous layer of
 * hiredis: it aborts the process on a reply without a request, frees itself while it is in use, and
 * blocks the loop while it looks up names. */
struct connection;

struct redisReply;

/* The loop calls these, also inside connection_flush and connection_read, which only the loop's
 * callbacks use. Each may call connection_close. */
struct connection_events {
    void *context;
    void (*connected)(void *context);
    /* `reply` is valid during the call. */
    void (*replied)(void *context, const struct redisReply *reply);
    /* The connection could not be made, or has ended; `reason` says why in a few words. `code` is
     * -EPROTO if another try won't help, else -EAGAIN. After this, call only connection_close. */
    void (*lost)(void *context, int code, const char *reason);
    /* Comes after connection_close, when the memory is gone. */
    void (*closed)(void *context);
};

/* The server to connect to. */
struct connection_target {
    const struct sockaddr *address;
    socklen_t address_length;
    struct tls_trust *trust; /* NULL for a plain connection; outlives the connection */
    const char *host;        /* the host that the server's certificate must be valid for */
};

/* Starts to connect. Returns 0 or a negative errno. */
int connection_open(struct connection **ret, uv_loop_t *loop,
                    const struct connection_target *target, const struct connection_events *events);

/* Adds a copy of the bytes to the output, which connection_flush sends. Returns the position behind
 * them in the stream of all bytes ever appended. */
uint64_t connection_append(struct connection *connection, const char *bytes, size_t length);

/* How many bytes of that stream have left this process. */
uint64_t connection_sent(const struct connection *connection);

/* Writes the output if it has at least `least` bytes, so that Redis can begin while this turn of
 * the loop makes more. Calls no event: connection_flush finds and reports errors. */
void connection_push(struct connection *connection, size_t least);

/* Writes the output now as far as the socket takes it; the loop writes the rest. */
void connection_flush(struct connection *connection);

/* Reads what has arrived and hands out the replies. Returns true if there may be more. */
bool connection_read(struct connection *connection);

/* Whether the server has accepted the connection. It may still owe an answer by TLS. False once the
 * connection is lost. */
bool connection_is_accepted(const struct connection *connection);

/* After this, only the event `closed` comes. Takes NULL. */
void connection_close(struct connection *connection);

#endif
