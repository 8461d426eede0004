#include "redis/store.h"

#include "redis/cluster/cluster_store.h"
#include "redis/cluster/primary_lease.h"
#include "redis/primary/part.h"
#include "redis/quorum/quorum.h"
#include "redis/sentinel/sentinel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ONLY_PART = 0 };

struct store {
    uv_loop_t *loop;
    struct redis_url url;
    struct quorum *quorum;         /* NULL unless it has members: then there is nothing else */
    struct cluster_store *cluster; /* the same of a Cluster */
    struct sentinel *sentinel;     /* NULL where the URL names the server itself */
    bool requires_primary_lease;   /* of the sentinels */
    struct guide *guide;           /* the same */
    struct part *part;
    unsigned answering;      /* the part whose answer is being told */
    struct inbox *inbox;     /* NULL before store_listen */
    bool inbox_loss_is_told; /* since it last listened */
    bool tracks;
    struct store_events events;
    int open; /* the part and the inbox */
    void (*closed)(void *context);
    void *closed_context;
    bool closing;
};

/* What the parts tell */

static void store_up(void *context, unsigned part)
{
    struct store *store = context;
    if (store->events.up)
        store->events.up(store->events.context, part);
}

static void store_down(void *context, unsigned part, const char *reason)
{
    struct store *store = context;
    if (store->events.down)
        store->events.down(store->events.context, part, reason);
}

static void store_warning(void *context, const char *text)
{
    struct store *store = context;
    if (store->events.warning)
        store->events.warning(store->events.context, text);
}

static void store_touched(void *context, struct slice key)
{
    struct store *store = context;
    if (store->tracks && store->events.touched)
        store->events.touched(store->events.context, key);
}

static void store_answered(void *context, unsigned part, uint64_t nanoseconds)
{
    struct store *store = context;
    store->answering = part;
    if (store->events.answered)
        store->events.answered(store->events.context, nanoseconds);
}

/* What the inbox tells */

static void store_listening(void *context)
{
    struct store *store = context;
    store->inbox_loss_is_told = false;
    part_heard_by(store->part, store->inbox);
    if (store->events.listening)
        store->events.listening(store->events.context);
}

static void store_message(void *context, struct slice text)
{
    struct store *store = context;
    if (store->events.message)
        store->events.message(store->events.context, text);
}

/* While the store is down, `down` has told enough. */
static void store_inbox_lost(void *context, const char *reason)
{
    struct store *store = context;
    if (store->inbox_loss_is_told || !store_is_up(store))
        return;
    store->inbox_loss_is_told = true;
    struct failure warning;
    failure_set(&warning, 0, "until batond hears from Redis again, waiters are served late: %s",
                reason);
    store_warning(store, warning.text);
}

static void store_stamp(void *context, unsigned part, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    struct store *store = context;
    store->events.stamp(store->events.context, part, now, stamp);
}

/* The beginning */

static int store_open_part(struct store *store)
{
    const struct part_options options = {
        .loop = store->loop,
        .url = &store->url,
        .guide = store->guide,
        .number = ONLY_PART,
        .events = {.context = store,
                   .up = store_up,
                   .down = store_down,
                   .warning = store_warning,
                   .touched = store_touched,
                   .answered = store_answered,
                   .stamp = store->events.stamp ? store_stamp : NULL}};
    return part_open(&store->part, &options);
}

static int store_open_parts(struct store *store)
{
    int result = 0;
    if (store->url.kind == REDIS_WATCHED)
        result =
            sentinel_open(&store->sentinel, store->loop, &store->url, store_warning, store, NULL);
    if (result < 0)
        return result;
    store->guide = store->sentinel ? sentinel_guide(store->sentinel) : NULL;
    result = store_open_part(store);
    if (result < 0 && store->sentinel)
        sentinel_close(store->sentinel, NULL, NULL);
    return result;
}

static int store_open_engine(struct store *store)
{
    if (store->url.kind == REDIS_QUORUM)
        return quorum_open(&store->quorum, store->loop, &store->url, &store->events);
    if (store->url.kind == REDIS_CLUSTER)
        return cluster_store_open(&store->cluster, store->loop, &store->url, &store->events);
    return store_open_parts(store);
}

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->loop = loop;
    store->events = *events;
    store->open = 1;
    int result = redis_url_copy(url, &store->url);
    if (result == 0)
        result = store_open_engine(store);
    if (result < 0) {
        redis_url_free(&store->url);
        free(store);
        return result;
    }
    *ret = store;
    return 0;
}

int store_listen(struct store *store, struct slice channel)
{
    const struct inbox_events events = {
        .context = store,
        .listening = store_listening,
        .message = store_message,
        .touched = store_touched,
        .lost = store_inbox_lost,
    };
    if (store->quorum)
        return quorum_listen(store->quorum, channel);
    if (store->cluster)
        return cluster_store_listen(store->cluster, channel);
    int result =
        inbox_open(&store->inbox, store->loop, &store->url, store->guide, channel, &events);
    if (result == 0)
        store->open++;
    return result;
}

void store_track(struct store *store, struct slice prefix)
{
    store->tracks = true;
    if (store->cluster)
        cluster_store_track(store->cluster, prefix);
    else if (!store->quorum)
        part_track(store->part, prefix);
}

void store_untrack(struct store *store)
{
    store->tracks = false;
    if (store->cluster)
        cluster_store_untrack(store->cluster);
    else if (!store->quorum)
        part_untrack(store->part);
}

/* The end */

static void store_end(void *context)
{
    struct store *store = context;
    void (*closed)(void *context) = store->closed;
    void *closed_context = store->closed_context;
    redis_url_free(&store->url);
    free(store);
    if (closed)
        closed(closed_context);
}

/* The part and the inbox follow the sentinel's guide, so that one goes last. */
static void store_one_closed(void *context)
{
    struct store *store = context;
    if (--store->open > 0)
        return;
    if (store->sentinel)
        sentinel_close(store->sentinel, store_end, store);
    else
        store_end(store);
}

bool store_is_closing(const struct store *store)
{
    return store->closing;
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    if (!store)
        return;
    store->closing = true;
    store->closed = closed;
    store->closed_context = context;
    if (store->quorum) {
        quorum_close(store->quorum, store_one_closed, store);
        return;
    }
    if (store->cluster) {
        cluster_store_close(store->cluster, store_one_closed, store);
        return;
    }
    if (store->inbox)
        inbox_close(store->inbox, store_one_closed, store);
    part_close(store->part, store_one_closed, store);
}

/* Calls */

/* The one place that decides which Redis serves a name. With a single Redis it is the same for all.
 */
unsigned store_part(const struct store *store, struct slice key)
{
    return store->cluster ? cluster_store_part(store->cluster, key)
                          : ONLY_PART; /* a quorum: all do */
}

unsigned store_part_count(const struct store *store)
{
    if (store->cluster)
        return cluster_store_part_count(store->cluster);
    return store->quorum ? quorum_count(store->quorum) : 1;
}

bool store_part_serves(const struct store *store, unsigned part)
{
    return !store->cluster || cluster_store_part_serves(store->cluster, part);
}

bool store_seek_part(const struct store *store, unsigned *position, unsigned *ret_part)
{
    if (store->cluster)
        return cluster_store_seek(store->cluster, position, ret_part);
    *ret_part = ONLY_PART;
    return *position == 0;
}

void store_tag(struct store *store, unsigned part, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->cluster)
        cluster_store_tag(store->cluster, part, tag);
}

void store_first_tag(const struct store *store, unsigned part, char tag[STORE_TAG_SIZE])
{
    tag[0] = '\0';
    if (store->cluster)
        cluster_store_first_tag(store->cluster, part, tag);
}

void store_eval_at(struct store *store, unsigned part, const struct script *script,
                   struct slice key, const struct slice *arguments, size_t argument_count,
                   store_done *done, void *context)
{
    if (store->quorum) {
        store_eval(quorum_member(store->quorum, part), script, key, arguments, argument_count, done,
                   context);
        return;
    }
    if (store->cluster)
        cluster_store_eval_at(store->cluster, part, script, arguments, argument_count, done,
                              context);
    else
        link_eval(part_link(store->part), script, key, arguments, argument_count, done, context);
}

/* The link to a part: that of a quorum's member is its own. */
static struct link *store_link(const struct store *store, unsigned part)
{
    if (store->cluster)
        return cluster_store_link(store->cluster, part);
    return part_link(store->quorum ? quorum_member(store->quorum, part)->part : store->part);
}

void store_eval_first(struct store *store, unsigned part, const struct script *script,
                      struct slice key, const struct slice *arguments, size_t argument_count,
                      store_done *done, void *context)
{
    link_eval_first(store_link(store, part), script, key, arguments, argument_count, done, context);
}

void store_close_gate(struct store *store, unsigned part)
{
    link_set_gate(store_link(store, part), false);
}

void store_open_gate(struct store *store, unsigned part)
{
    link_set_gate(store_link(store, part), true);
}

void store_retire(struct store *store, const char *reason)
{
    link_retire(store_link(store, ONLY_PART), reason);
}

const char *store_part_place(const struct store *store, unsigned part)
{
    return link_place(store_link(store, part));
}

const struct store_peer *store_peer(const struct store *store, unsigned part)
{
    return link_peer(store_link(store, part));
}

void store_eval(struct store *store, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context)
{
    if (store->cluster)
        cluster_store_eval(store->cluster, script, key, arguments, argument_count, done, context);
    else
        store_eval_at(store, store_part(store, key), script, key, arguments, argument_count, done,
                      context);
}

/* Confirming */

void store_expect_replicas(struct store *store, struct slice key, int replicas)
{
    if (store->cluster)
        cluster_store_expect_replicas(store->cluster, key, replicas);
    else if (!store->quorum)
        part_expect_replicas(store->part, key, replicas);
}

struct store_mark store_mark(const struct store *store)
{
    if (store->quorum)
        return (struct store_mark){0};
    if (store->cluster)
        return cluster_store_mark(store->cluster);
    return part_mark(store->part);
}

struct store_mark store_mark_at(const struct store *store, unsigned part)
{
    struct store_mark mark = link_mark(store_link(store, part));
    mark.part = part;
    return mark;
}

void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    if (store->cluster)
        cluster_store_confirm(store->cluster, mark, replicas, timeout_ms, done, context);
    else
        part_confirm(store->part, mark, replicas, timeout_ms, done, context);
}

/* How it is */

bool store_part_is_up(const struct store *store, unsigned part)
{
    if (store->quorum)
        return part < quorum_count(store->quorum) &&
               store_is_up(quorum_member(store->quorum, part));
    if (store->cluster)
        return cluster_store_part_is_up(store->cluster, part);
    return part == ONLY_PART && link_serves(part_link(store->part));
}

bool store_is_up(const struct store *store)
{
    if (store->cluster)
        return cluster_store_is_up(store->cluster);
    return store->quorum ? quorum_is_up(store->quorum) : store_part_is_up(store, ONLY_PART);
}

const char *store_trouble(const struct store *store)
{
    if (store->quorum)
        return quorum_trouble(store->quorum);
    if (store->cluster)
        return cluster_store_trouble(store->cluster);
    return link_trouble(part_link(store->part));
}

const char *store_place(const struct store *store)
{
    if (store->quorum)
        return quorum_place(store->quorum);
    if (store->cluster)
        return cluster_store_place(store->cluster);
    return link_place(part_link(store->part));
}

const char *store_primary(const struct store *store)
{
    if (store->quorum)
        return quorum_summary(store->quorum);
    if (store->cluster)
        return cluster_store_summary(store->cluster);
    return store->sentinel ? store_place(store) : "";
}

unsigned store_telling(const struct store *store)
{
    return store->quorum ? quorum_telling(store->quorum) : ONLY_PART;
}

struct store_figures store_figures(const struct store *store)
{
    if (store->quorum)
        return quorum_figures(store->quorum);
    if (store->cluster)
        return cluster_store_figures(store->cluster);
    return link_figures(part_link(store->part));
}

void store_require_primary_lease(struct store *store)
{
    store->requires_primary_lease = store->sentinel || store->cluster;
    if (store->sentinel)
        sentinel_require_primary_lease(store->sentinel);
    if (store->cluster)
        cluster_store_require_primary_lease(store->cluster);
}

int64_t store_primary_lease_ms(const struct store *store)
{
    int64_t lease = store->cluster ? (int64_t)PRIMARY_LEASE_MS : (int64_t)SENTINEL_PRIMARY_LEASE_MS;
    return store->requires_primary_lease ? lease : 0;
}
