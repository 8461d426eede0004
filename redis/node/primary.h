/* primary.h: one primary behind a store: the link to it, the tracking of its keys, and the replicas
 * that confirm its answers. */
#ifndef BATON_REDIS_NODE_PRIMARY_H
#define BATON_REDIS_NODE_PRIMARY_H

#include "redis/node/inbox.h"
#include "redis/node/link.h"

/* Used on its loop's thread alone. */
struct primary;

/* As in struct store_events; `number` is the primary's. Only `stamp`, `late` and those marked below
 * may be NULL. */
struct primary_events {
    void *context;
    void (*up)(void *context, unsigned number);
    void (*down)(void *context, unsigned number, const char *reason);
    void (*warning)(void *context, const char *text);
    void (*touched)(void *context, struct slice key);
    void (*answered)(void *context, unsigned number, uint64_t nanoseconds);
    void (*late)(void *context, unsigned number); /* as in link.h */
    void (*stamp)(void *context, unsigned number, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
    /* As in link.h. May be NULL if no call has a routing. */
    void (*redirected)(void *context, struct call *call, const char *error);
    /* This node does not serve the marker's key; the owner sets another key. May be NULL. */
    void (*marker_astray)(void *context, unsigned number);
};

struct primary_options {
    uv_loop_t *loop;
    const struct redis_url *url; /* outlives the primary */
    struct endpoint *endpoint;   /* as in session.h */
    unsigned number;
    struct primary_events events;
};

/* Returns 0 or a negative errno. */
int primary_open(struct primary **ret, const struct primary_options *options);

/* Calls `closed` when the memory is gone. */
void primary_close(struct primary *primary, void (*closed)(void *context), void *context);

struct link *primary_link(struct primary *primary);

/* As store_mark. */
struct store_mark primary_mark(const struct primary *primary);

/* From now on Redis reports changes of tracked keys to `inbox`. Call this again each time `inbox`
 * listens again. */
void primary_heard_by(struct primary *primary, const struct inbox *inbox);

/* As store_track and store_untrack. */
void primary_track(struct primary *primary, struct slice prefix);
void primary_untrack(struct primary *primary);

/* As store_expect_replicas. Call this again to change the key. */
void primary_expect_replicas(struct primary *primary, struct slice key, int replicas);

/* As store_confirm. */
void primary_confirm(struct primary *primary, struct store_mark mark, int replicas,
                     int64_t timeout_ms, store_confirmed *done, void *context);

#endif
