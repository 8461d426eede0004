/* inbox.h: hears what is published to one channel, and which tracked keys have changed. */
#ifndef BATON_REDIS_PUBSUB_INBOX_H
#define BATON_REDIS_PUBSUB_INBOX_H

#include "base/slice.h"
#include "redis/wire/endpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* It has a connection of its own, since in RESP2 one that is subscribed runs no scripts. It is used
 * on its loop's thread alone. */
struct inbox;

enum {
    INBOX_PING_MS = 1000,  /* between two proofs that the connection is alive; */
    INBOX_ANSWER_MS = 800, /* without a reply for this long it counts as lost */
};

/* All are called from the loop, never from inside a call to the inbox, and may close it; none may
 * be NULL. */
struct inbox_events {
    void *context;
    /* Redis has confirmed the subscriptions, at first and after each loss. */
    void (*listening)(void *context);
    void (*message)(void *context, struct slice text);
    /* Of the keys that a CLIENT TRACKING redirected to here asks for; without bytes: any of them.
     */
    void (*touched)(void *context, struct slice key);
    /* The connection was lost, could not be made or may not subscribe: told for each try, which
     * follow one another by themselves, with a growing pause. */
    void (*lost)(void *context, const char *reason);
};

/* Starts connecting. `url` and `channel` (which may be absent: then it hears of keys alone) are
 * copied; `endpoint` is as in session.h. Returns 0 or a negative errno. */
int inbox_open(struct inbox **ret, uv_loop_t *loop, const struct redis_url *url,
               struct endpoint *endpoint, struct slice channel, const struct inbox_events *events);

/* No event but `closed` comes any more. */
void inbox_close(struct inbox *inbox, void (*closed)(void *context), void *context);

bool inbox_is_listening(const struct inbox *inbox);

/* What Redis calls its connection, for CLIENT TRACKING … REDIRECT; 0 where it does not say. */
int64_t inbox_client_id(const struct inbox *inbox);

#endif
