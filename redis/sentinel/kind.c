/* One node, whose address the sentinels give. */
#include "redis/kind.h"

#include "redis/node/preflight.h"
#include "redis/sentinel/sentinel.h"

#include <errno.h>
#include <stdlib.h>

struct watched {
    struct shards *shards;
    struct sentinel *sentinel;
    void (*closed)(void *context);
    void *closed_context;
};

static int watched_open(void **ret, struct shards *shards)
{
    struct watched *watched = calloc(1, sizeof *watched);
    if (!watched)
        return -ENOMEM;
    watched->shards = shards;
    int result =
        sentinel_open(&watched->sentinel, shards->loop, shards->url, shards_warn, shards, NULL);
    if (result < 0) {
        free(watched);
        return result;
    }
    *ret = watched;
    return shards_add(shards, 0, shards->url, sentinel_endpoint(watched->sentinel));
}

static void watched_freed(void *context)
{
    struct watched *watched = context;
    void (*closed)(void *context) = watched->closed;
    void *closed_context = watched->closed_context;
    free(watched);
    closed(closed_context);
}

static void watched_close(void *state, void (*closed)(void *context), void *context)
{
    struct watched *watched = state;
    watched->closed = closed;
    watched->closed_context = context;
    sentinel_close(watched->sentinel, watched_freed, watched);
}

static const char *watched_primary(void *state, struct shards_tally tally)
{
    const struct watched *watched = state;
    (void)tally;
    return node_place(watched->shards->nodes[0]);
}

static void watched_require_primary_lease(void *state)
{
    const struct watched *watched = state;
    sentinel_require_primary_lease(watched->sentinel);
}

/* Preflight */

static void preflight_ignore_warning(void *context, const char *text)
{
    (void)context, (void)text; /* the store that serves later gets the same warning, and logs it */
}

static void preflight_close_sentinel(void *context)
{
    sentinel_close(context, NULL, NULL);
}

static int preflight_watched(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    uv_loop_t loop;
    struct sentinel *sentinel;
    int result = preflight_open_loop(&loop, failure);
    if (result < 0)
        return result;
    result = sentinel_open(&sentinel, &loop, url, preflight_ignore_warning, NULL, failure);
    if (result == 0) {
        struct preflight preflight = {.loop = &loop,
                                      .endpoint = sentinel_endpoint(sentinel),
                                      .timeout_ms = timeout_ms,
                                      .failure = failure,
                                      .closed = preflight_close_sentinel,
                                      .closed_context = sentinel};
        preflight_begin(&preflight, url);
        uv_run(&loop, UV_RUN_DEFAULT);
        result = preflight.result;
    }
    uv_loop_close(&loop);
    return result;
}

const struct kind sentinel_kind = {
    .open = watched_open,
    .preflight = preflight_watched,
    .close = watched_close,
    .primary = watched_primary,
    .require_primary_lease = watched_require_primary_lease,
    .primary_lease_ms = SENTINEL_PRIMARY_LEASE_MS,
};
