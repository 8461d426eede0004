#include "redis/store.h"

#include "redis/link.h"

#include <errno.h>
#include <stdlib.h>

struct store {
    struct link *link;
    struct store_events events;
    void (*closed)(void *context);
    void *closed_context;
};

static void store_up(void *context)
{
    struct store *store = context;
    if (store->events.up)
        store->events.up(store->events.context);
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

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->events = *events;
    const struct link_events link_events = {store, store_up, store_down, store_warning};
    int result = link_open(&store->link, loop, url, &link_events, NULL);
    if (result < 0) {
        free(store);
        return result;
    }
    *ret = store;
    return 0;
}

static void store_closed(void *context)
{
    struct store *store = context;
    void (*closed)(void *context) = store->closed;
    void *closed_context = store->closed_context;
    free(store);
    if (closed)
        closed(closed_context);
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    if (!store)
        return;
    store->closed = closed;
    store->closed_context = context;
    link_close(store->link, store_closed, store);
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

bool store_is_up(const struct store *store)
{
    return link_is_up(store->link);
}

const char *store_trouble(const struct store *store)
{
    return link_trouble(store->link);
}

struct store_figures store_figures(const struct store *store)
{
    return link_figures(store->link);
}
