/* A watch of a prefix: what concerns it, and how it ends. */
#include "locks/watching/prefix.h"

#include <stdlib.h>

bool prefix_watch_has(const struct prefix_watch *watch, struct slice name)
{
    const struct prefix_listener *listener = &watch->listener;
    return name.length >= watch->prefix_length &&
           memcmp(name.bytes, watch->prefix, watch->prefix_length) == 0 &&
           (!listener->wants || listener->wants(listener->context, name));
}

static void prefix_watch_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void locks_unwatch_prefix(struct prefix_watch *watch)
{
    struct watched_prefix *watched = watch->watched;
    LIST_REMOVE(watch, others);
    if (--watched->watch_count == 0)
        watched->idle = uv_now(watched->locks->loop);
    uv_close((uv_handle_t *)&watch->timer, prefix_watch_on_closed);
    watched_prefix_plan(watched);
}

/* The client gets what the limit has left out when it asks again. */
void prefix_watch_answer(struct prefix_watch *watch)
{
    struct prefix_listener listener = watch->listener;
    struct prefix_position reached = watch->position;
    bool begins = watch->begins;
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_DONE, &reached, begins, NULL);
}

void prefix_watch_give_up(struct prefix_watch *watch, const char *error)
{
    struct prefix_listener listener = watch->listener;
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_UNAVAILABLE, &(struct prefix_position){0}, false, error);
}

void prefix_watches_give_up(struct watched_prefix *watched, const char *error)
{
    struct prefix_watch *watch, *next;
    for (watch = LIST_FIRST(&watched->watches); watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch->state == WATCH_STARTING)
            prefix_watch_give_up(watch, error);
    }
}
