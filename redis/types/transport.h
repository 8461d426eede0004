/* transport.h: the way to Redis behind a store: one server, Sentinel, a Cluster or a quorum. */
#ifndef BATON_REDIS_TYPES_TRANSPORT_H
#define BATON_REDIS_TYPES_TRANSPORT_H

#include "redis/types/confirm.h"
#include "redis/types/events.h"
#include "redis/types/peer.h"
#include "redis/types/result.h"
#include "redis/types/script.h"

#include <stdbool.h>
#include <uv.h>

struct failure;
struct node;
struct redis_url;

enum { STORE_TAG_SIZE = 8 };

/* Each transport is one constant table. redis/store.c picks it by the kind of the URL, and uses
 * nothing else of the transport. `open` makes the `state`. The operations do what their namesakes
 * in redis/store.h say. */
struct transport {
    /* `url` outlives the state. Returns 0 or a negative errno. */
    int (*open)(void **ret, uv_loop_t *loop, const struct redis_url *url,
                const struct store_events *events);
    /* Calls `closed` once, when the memory of the state is gone. */
    void (*close)(void *state, void (*closed)(void *context), void *context);
    int (*preflight)(const struct redis_url *url, int timeout_ms, struct failure *failure);

    void (*eval_at)(void *state, unsigned shard, const struct script *script, struct slice key,
                    const struct slice *arguments, size_t argument_count, store_done *done,
                    void *context);
    int (*listen)(void *state, struct slice channel);
    struct node *(*node)(const void *state, unsigned shard);
    unsigned (*shard_count)(const void *state);
    bool (*shard_is_up)(const void *state, unsigned shard);
    bool (*is_up)(const void *state);
    const char *(*trouble)(void *state);
    const char *(*place)(const void *state);
    struct store_figures (*figures)(const void *state);

    /* A transport has these if its shards serve different keys. NULL: the first shard serves every
     * key, or all shards do. */
    void (*eval)(void *state, const struct script *script, struct slice key,
                 const struct slice *arguments, size_t argument_count, store_done *done,
                 void *context);
    unsigned (*shard)(const void *state, struct slice key);
    bool (*shard_serves)(const void *state, unsigned shard);
    bool (*seek_shard)(const void *state, unsigned *position, unsigned *ret_shard);
    void (*tag)(void *state, unsigned shard, char tag[STORE_TAG_SIZE]);
    void (*first_tag)(const void *state, unsigned shard, char tag[STORE_TAG_SIZE]);

    /* NULL if one shard alone decides nothing (a quorum). */
    void (*track)(void *state, struct slice prefix);
    void (*untrack)(void *state);
    void (*expect_replicas)(void *state, struct slice key, int replicas);
    struct store_mark (*mark)(const void *state);
    void (*confirm)(void *state, struct store_mark mark, int replicas, int64_t timeout_ms,
                    store_confirmed *done, void *context);

    unsigned (*telling)(const void *state); /* NULL: the first shard */
    const char *(*primary)(void *state);    /* NULL: the URL names the server */
    /* NULL and 0 ms if no other server can say which primary is the right one. */
    void (*require_primary_lease)(void *state);
    int64_t primary_lease_ms;
};

#endif
