/* events.h: what a store reports to its owner. */
#ifndef BATON_REDIS_TYPES_EVENTS_H
#define BATON_REDIS_TYPES_EVENTS_H

#include "redis/types/result.h"

#include <stdint.h>

enum {
    STORE_STAMP_LENGTH = 64, /* bytes */
    STORE_TAG_SIZE = 8,      /* what store_tag writes, NUL included */
};

/* What only logs and figures need, with a context of its own. Each may be NULL. */
struct store_observer {
    void *context;
    /* The connection was lost or could not be made; `reason` says why and what to look at. Reported
     * once for each loss; while this shard stays away, again only when the reason changes. */
    void (*down)(void *context, unsigned shard, const char *reason);
    /* Redis is usable but set up in a way that can lose locks (eviction, a replica, …), reported
     * after each connect; or it answers scripts with errors, reported every 10 s at most. */
    void (*warning)(void *context, const char *text);
    /* A script has run; its reply came `nanoseconds` after the script was sent. */
    void (*answered)(void *context, uint64_t nanoseconds);
};

/* The store calls these from the loop and, except for `stamp`, never from inside a call to the
 * store. Each may be NULL. */
struct store_events {
    struct store_observer observer;
    void *context; /* of those below */
    /* The shard has a new connection. Calls that `up` makes for this shard reach Redis before any
     * other. */
    void (*up)(void *context, unsigned shard);
    /* Other shards than before may serve names now. They have their connections already. */
    void (*moved)(void *context);
    /* The shard `to` serves, or begins to serve, names that `from` has served. Comes before
     * `moved`, and before the store sends a call to `to` that `from` has redirected. May come
     * often. */
    void (*migrated)(void *context, unsigned to, unsigned from);
    /* The inbox (store_listen) is subscribed at this shard, for the first time or again after a
     * loss. Messages that were published before may have been missed. */
    void (*listening)(void *context, unsigned shard);
    /* A message has arrived from this shard. `text` is valid during the call. */
    void (*message)(void *context, unsigned shard, struct slice text);
    /* A key that begins with the prefix of store_track has changed. Without bytes, any such key may
     * have changed. */
    void (*invalidated)(void *context, struct slice key);
    /* A script of store_eval or store_eval_at has answered: STORE_REPLIED, STORE_LATE, or
     * `damaged`. `done` gets what this leaves in `result`. Returns true if the script has done only
     * a part of its work: then it runs again, while the call is wanted. */
    bool (*result)(void *context, unsigned shard, struct store_result *result);
    /* Writes the stamp, which is the first argument of each script, whenever the script is sent to
     * a shard, at `now` (uv_hrtime). NULL: scripts have no such argument. */
    void (*stamp)(void *context, unsigned shard, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
};

#endif
