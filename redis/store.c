#include "redis/store.h"

#include "redis/confirmer.h"
#include "redis/inbox.h"
#include "redis/link.h"
#include "redis/sentinel.h"
#include "redis/tracking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct store {
    uv_loop_t *loop;
    struct redis_url url;
    struct sentinel *sentinel; /* NULL where the URL names the server itself */
    struct guide *guide;       /* the same */
    struct link *link;
    struct inbox *inbox;     /* NULL before store_listen */
    bool inbox_loss_is_told; /* since it last listened */
    struct tracking tracking;
    struct store_events events;
    struct slice marker; /* the bytes are its own; absent before store_expect_replicas */
    int expected;        /* replicas, always; 0: none */
    struct confirmer *confirmers[STORE_REPLICAS_MOST]; /* by replicas - 1; NULL: nobody asked */
    int parts_open;                                    /* the link, the inbox, and the confirmers */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

static void store_up(void *context)
{
    struct store *store = context;
    tracking_reset(&store->tracking);
    if (store->events.up)
        store->events.up(store->events.context);
    tracking_resume(&store->tracking, store->link, store->inbox);
}

static void store_down(void *context, int code, const char *reason)
{
    struct store *store = context;
    (void)code; /* a service goes on trying, whatever the reason */
    if (store->events.down)
        store->events.down(store->events.context, reason);
}

static void store_warning(void *context, const char *text)
{
    struct store *store = context;
    if (store->events.warning)
        store->events.warning(store->events.context, text);
}

static void store_listening(void *context)
{
    struct store *store = context;
    store->inbox_loss_is_told = false;
    tracking_resume(&store->tracking, store->link, store->inbox);
    if (store->events.listening)
        store->events.listening(store->events.context);
}

static void store_message(void *context, struct slice text)
{
    struct store *store = context;
    if (store->events.message)
        store->events.message(store->events.context, text);
}

static void store_touched(void *context, struct slice key)
{
    struct store *store = context;
    if (store->tracking.wanted && store->events.touched)
        store->events.touched(store->events.context, key);
}

static void store_tracked(void *context, const char *error)
{
    struct store *store = context;
    struct failure warning;
    if (tracking_answered(&store->tracking, error))
        store_touched(store, (struct slice){NULL, 0});
    else if (error && tracking_warn(&store->tracking, store->inbox, error, &warning))
        store_warning(store, warning.text);
}

static void store_answered(void *context, uint64_t nanoseconds)
{
    struct store *store = context;
    if (store->events.answered)
        store->events.answered(store->events.context, nanoseconds);
}

/* While the link is down, `down` has told enough. */
static void store_inbox_lost(void *context, const char *reason)
{
    struct store *store = context;
    if (store->inbox_loss_is_told || !link_is_up(store->link))
        return;
    store->inbox_loss_is_told = true;
    struct failure warning;
    failure_set(&warning, 0, "until batond hears from Redis again, waiters are served late: %s",
                reason);
    store_warning(store, warning.text);
}

static int store_open_link(struct store *store)
{
    const struct link_events events = {store,         store_up,      store_down,
                                       store_warning, store_tracked, store_answered};
    int result = 0;
    if (store->url.kind == REDIS_WATCHED)
        result =
            sentinel_open(&store->sentinel, store->loop, &store->url, store_warning, store, NULL);
    if (result < 0)
        return result;
    store->guide = store->sentinel ? sentinel_guide(store->sentinel) : NULL;
    result = link_open(&store->link, store->loop, &store->url, store->guide, &events, NULL);
    if (result < 0 && store->sentinel)
        sentinel_close(store->sentinel, NULL, NULL);
    return result;
}

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->loop = loop;
    store->events = *events;
    store->parts_open = 1;
    int result = redis_url_copy(url, &store->url);
    if (result == 0)
        result = store_open_link(store);
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
    int result =
        inbox_open(&store->inbox, store->loop, &store->url, store->guide, channel, &events);
    if (result == 0)
        store->parts_open++;
    return result;
}

void store_track(struct store *store, struct slice prefix)
{
    tracking_begin(&store->tracking, store->link, store->inbox, prefix);
}

void store_untrack(struct store *store)
{
    tracking_end(&store->tracking, store->link);
}

static void store_end(void *context)
{
    struct store *store = context;
    void (*closed)(void *context) = store->closed;
    void *closed_context = store->closed_context;
    tracking_free(&store->tracking);
    redis_url_free(&store->url);
    free((char *)store->marker.bytes);
    free(store);
    if (closed)
        closed(closed_context);
}

/* The link, the inbox and the confirmers follow the sentinel's guide, so that one goes last. */
static void store_part_closed(void *context)
{
    struct store *store = context;
    if (--store->parts_open > 0)
        return;
    if (store->sentinel)
        sentinel_close(store->sentinel, store_end, store);
    else
        store_end(store);
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    if (!store)
        return;
    store->closing = true;
    store->closed = closed;
    store->closed_context = context;
    if (store->inbox)
        inbox_close(store->inbox, store_part_closed, store);
    for (int i = 0; i < STORE_REPLICAS_MOST; i++)
        if (store->confirmers[i])
            confirmer_close(store->confirmers[i], store_part_closed, store);
    link_close(store->link, store_part_closed, store);
}

/* The one place that decides which Redis serves a name. With a single Redis it is the same for all.
 */
static struct link *store_route(struct store *store, struct slice key)
{
    (void)key;
    return store->link;
}

void store_eval(struct store *store, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context)
{
    link_eval(store_route(store, key), script, key, arguments, argument_count, done, context);
}

/* Confirming */

static struct confirmer *store_confirmer(struct store *store, int replicas)
{
    struct confirmer *confirmer = store->confirmers[replicas - 1];
    if (confirmer)
        return confirmer;
    const struct confirmer_options options = {.loop = store->loop,
                                              .url = &store->url,
                                              .guide = store->guide,
                                              .marker = store->marker,
                                              .replicas = replicas,
                                              .warns = replicas == store->expected,
                                              .events = {store, store_warning}};
    store->parts_open++;
    confirmer = confirmer_open(&options);
    store->confirmers[replicas - 1] = confirmer;
    if (store->closing) /* by one whose script was still answered */
        confirmer_close(confirmer, store_part_closed, store);
    return confirmer;
}

void store_expect_replicas(struct store *store, struct slice key, int replicas)
{
    char *bytes = malloc(key.length);
    if (!bytes)
        abort();
    memcpy(bytes, key.bytes, key.length);
    store->marker = (struct slice){bytes, key.length};
    store->expected = replicas;
    if (replicas > 0)
        store_confirmer(store, replicas);
}

struct store_mark store_mark(const struct store *store)
{
    return link_mark(store->link);
}

/* One that asks, on behalf of somebody. */
struct confirming {
    struct store *store;
    uint64_t sent;
    store_confirmed *done;
    void *context;
};

static void store_was_confirmed(void *context, const char *error)
{
    struct confirming *confirming = context;
    const struct store_events *events = &confirming->store->events;
    if (events->confirmed)
        events->confirmed(events->context, uv_hrtime() - confirming->sent, !error);
    confirming->done(confirming->context, error);
    free(confirming);
}

void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    enum { NS_PER_MS = 1000000 };
    /* By another connection there may be another server, and nobody knows what it has of this. */
    bool is_same = link_is_up(store->link) && mark.connection == store_mark(store).connection;
    struct confirming *confirming = malloc(sizeof *confirming);
    if (!confirming)
        abort();
    *confirming = (struct confirming){store, mark.sent, done, context};
    uint64_t due = is_same ? mark.sent / NS_PER_MS + (uint64_t)timeout_ms : 0;
    confirmer_ask(store_confirmer(store, replicas), link_run_id(store->link), due,
                  store_was_confirmed, confirming);
}

bool store_is_up(const struct store *store)
{
    return link_is_up(store->link);
}

const char *store_trouble(const struct store *store)
{
    return link_trouble(store->link);
}

const char *store_place(const struct store *store)
{
    return link_place(store->link);
}

const char *store_primary(const struct store *store)
{
    return store->sentinel ? store_place(store) : "";
}

struct store_figures store_figures(const struct store *store)
{
    return link_figures(store->link);
}
