/* The watches of a prefix: how they begin and end. */
#include "locks/watching/prefix.h"

#include "base/memory.h"

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

/* The client hears of what the limit has left out when it asks again. */
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

static struct prefixes *prefixes_of(struct locks *locks)
{
    if (!locks->prefixes) {
        locks->prefixes = memory_checked(calloc(1, sizeof *locks->prefixes));
        locks->prefixes->locks = locks;
    }
    return locks->prefixes;
}

static struct watched_prefix *prefixes_find(struct prefixes *prefixes, struct slice prefix)
{
    struct watched_prefix *watched;
    LIST_FOREACH (watched, &prefixes->list, others)
        if (watched->state != PREFIX_CLOSING && watched_prefix_has(watched, prefix))
            return watched;
    return watched_prefix_open(prefixes, prefix);
}

static void prefix_watch_on_over(uv_timer_t *timer)
{
    struct prefix_watch *watch = timer->data;
    watch->over = true;
    watch->watched->wanted = true;
    watched_prefix_plan(watch->watched);
}

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix,
                                        const struct prefix_position *from, int64_t wait_ms,
                                        size_t limit, const struct prefix_listener *listener)
{
    struct watched_prefix *watched = prefixes_find(prefixes_of(locks), prefix);
    struct prefix_watch *watch = memory_checked(calloc(1, sizeof *watch + prefix.length));
    watch->watched = watched;
    watch->listener = *listener;
    watch->position = *from;
    watch->limit = limit;
    watch->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(watch->prefix, prefix.bytes, prefix.length);
    uv_timer_init(locks->loop, &watch->timer);
    watch->timer.data = watch;
    LIST_INSERT_HEAD(&watched->watches, watch, others);
    watched->watch_count++;
    watched->wanted = true;
    watch->over = wait_ms == 0 || locks->draining;
    if (!watch->over)
        uv_timer_start(&watch->timer, prefix_watch_on_over, (uint64_t)wait_ms, 0);
    prefix_scan(watched);
    watched_prefix_plan(watched);
    return watch;
}

static void prefix_watches_drain(struct watched_prefix *watched)
{
    struct prefix_watch *watch;
    LIST_FOREACH (watch, &watched->watches, others) {
        uv_timer_stop(&watch->timer);
        watch->over = true;
    }
    watched->wanted = true;
    watched_prefix_plan(watched);
}

void prefixes_drain(struct locks *locks)
{
    struct watched_prefix *watched;
    if (locks->prefixes)
        LIST_FOREACH (watched, &locks->prefixes->list, others)
            prefix_watches_drain(watched);
}
