/* One node, whose address the sentinels give. */
#include "redis/kind.h"

#include "base/memory.h"
#include "redis/sentinel/sentinel.h"

struct watched {
    struct shards *shards;
    struct sentinel *sentinel;
    void (*closed)(void *context);
    void *closed_context;
};

static void *watched_open(struct shards *shards)
{
    struct watched *watched = memory_checked(calloc(1, sizeof *watched));
    watched->shards = shards;
    watched->sentinel = sentinel_open(shards->loop, shards->url, shards_warn, shards);
    shards_add(shards, 0, shards->url, sentinel_endpoint(watched->sentinel));
    return watched;
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

const struct kind sentinel_kind = {
    .open = watched_open,
    .close = watched_close,
    .primary = watched_primary,
    .require_primary_lease = watched_require_primary_lease,
    .primary_lease_ms = SENTINEL_PRIMARY_LEASE_MS,
};
