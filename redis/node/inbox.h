/* inbox.h: receives what is published to one channel, and which tracked keys have changed. */
#ifndef BATON_REDIS_NODE_INBOX_H
#define BATON_REDIS_NODE_INBOX_H

#include "base/slice.h"
#include "redis/wire/endpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* It has a connection of its own: in RESP2 a subscribed connection runs no scripts. Used on its
 * loop's thread alone. */
struct inbox;

enum { INBOX_PING_MS = 1000 }; /* between two proofs that the connection is alive */

/* The start of the warning that the inbox of all messages is lost. */
#define INBOX_LOSS "waiters get their locks late until messages from Redis arrive again: "

/* The loop calls these, never from inside a call to the inbox. Each may close the inbox; none may
 * be NULL. */
struct inbox_events {
    void *context;
    /* Redis has confirmed the subscriptions, at first and again after each loss. */
    void (*listening)(void *context);
    void (*message)(void *context, struct slice text);
    /* A key has changed that a CLIENT TRACKING with REDIRECT to this inbox asks for. Without bytes,
     * any of them may have changed. */
    void (*invalidated)(void *context, struct slice key);
    /* The connection was lost, could not be made or may not subscribe. Comes after each failed try.
     * The inbox tries again by itself, after a pause that grows. */
    void (*lost)(void *context, const char *reason);
};

/* Starts connecting. Copies `channel`. Without a channel the inbox gets keys alone.
 * `url` and `endpoint` are as in session.h. */
struct inbox *inbox_open(uv_loop_t *loop, const struct redis_url *url, struct endpoint *endpoint,
                         struct slice channel, const struct inbox_events *events);

/* After this, only `closed` comes, from the loop. */
void inbox_close(struct inbox *inbox, void (*closed)(void *context), void *context);

bool inbox_is_listening(const struct inbox *inbox);

/* The id that Redis gives the inbox's connection, for CLIENT TRACKING … REDIRECT; 0 if Redis does
 * not say. */
int64_t inbox_client_id(const struct inbox *inbox);

#endif
