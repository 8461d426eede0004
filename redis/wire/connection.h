/* connection.h: one socket to Redis on a loop: commands out, once a turn; replies in, in order. */
#ifndef BATON_REDIS_WIRE_CONNECTION_H
#define BATON_REDIS_WIRE_CONNECTION_H

#include "redis/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

/* hiredis reads the replies; the socket is ours. hiredis' own asynchronous layer is not used: it
 * aborts the process on a reply that nobody asked for, frees itself while it is being used, and
 * looks names up while the loop waits. */
struct connection;

struct redisReply;

/* All are called from the loop (or from within connection_flush and connection_read, which only the
 * loop's callbacks use). Any of them may call connection_close. */
struct connection_events {
    void *context;
    void (*connected)(void *context);
    /* `reply` is valid during the call. */
    void (*replied)(void *context, const struct redisReply *reply);
    /* It could not be made, or is no more: `reason` says why in a few words. `code` is -EPROTO
     * where trying again won't help, else -EAGAIN. Nothing but connection_close is left to do. */
    void (*lost)(void *context, int code, const char *reason);
    /* After connection_close: the memory is gone. */
    void (*closed)(void *context);
};

/* How to reach it. */
struct connection_target {
    const struct sockaddr *address;
    socklen_t address_length;
    struct tls_trust *trust; /* NULL for a plain connection; must outlive this one */
    const char *host;        /* what a certificate must be valid for */
};

/* Starts to connect. Returns 0 or a negative errno. */
int connection_open(struct connection **ret, uv_loop_t *loop,
                    const struct connection_target *target, const struct connection_events *events);

/* Copies bytes to what the next connection_flush sends. Returns the position behind them in the
 * stream of all bytes ever appended. */
uint64_t connection_append(struct connection *connection, const char *bytes, size_t length);

/* The position up to which the stream has left this process. */
uint64_t connection_sent(const struct connection *connection);

/* Writes what was appended if that is `least` bytes, so that Redis has something to do while this
 * turn of the loop makes more. Calls no event: what goes wrong, connection_flush finds. */
void connection_push(struct connection *connection, size_t least);

/* Writes what was appended, in one write(2) if the socket takes it; the loop does the rest. */
void connection_flush(struct connection *connection);

/* Reads what has arrived and hands out the replies. Returns true if there may be more. */
bool connection_read(struct connection *connection);

/* No event but `closed` comes any more. Takes NULL. */
void connection_close(struct connection *connection);

#endif
