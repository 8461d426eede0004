/* As the transport to a single server, but the sentinels give the address of the server. */
#include "redis/sentinel/transport.h"

#include "redis/node/preflight.h"
#include "redis/node/single.h"
#include "redis/sentinel/sentinel.h"

#include <errno.h>
#include <stdlib.h>

struct watched {
    struct single single; /* first: the operations of a single server take a struct watched */
    struct sentinel *sentinel;
};

static void watched_freed(void *context)
{
    struct watched *watched = context;
    void (*closed)(void *context) = watched->single.closed;
    void *closed_context = watched->single.closed_context;
    free(watched);
    closed(closed_context);
}

/* The primary and the inbox follow the sentinel's endpoint, so the sentinel goes last. */
static void watched_finish(struct single *single)
{
    struct watched *watched = (struct watched *)single;
    sentinel_close(watched->sentinel, watched_freed, watched);
}

static int watched_open(void **ret, uv_loop_t *loop, const struct redis_url *url,
                        const struct store_events *events)
{
    struct watched *watched = calloc(1, sizeof *watched);
    if (!watched)
        return -ENOMEM;
    int result = sentinel_open(&watched->sentinel, loop, url, single_warn, &watched->single, NULL);
    if (result < 0) {
        free(watched);
        return result;
    }
    watched->single = (struct single){.loop = loop,
                                      .url = url,
                                      .endpoint = sentinel_endpoint(watched->sentinel),
                                      .events = *events,
                                      .finish = watched_finish};
    result = single_start(&watched->single);
    if (result == 0) {
        *ret = watched;
        return 0;
    }
    sentinel_close(watched->sentinel, NULL, NULL);
    free(watched);
    return result;
}

static const char *watched_primary(void *state)
{
    return single_place(state);
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

const struct transport sentinel_transport = {
    .open = watched_open,
    .preflight = preflight_watched,
    SINGLE_OPERATIONS,
    .primary = watched_primary,
    .require_primary_lease = watched_require_primary_lease,
    .primary_lease_ms = SENTINEL_PRIMARY_LEASE_MS,
};
