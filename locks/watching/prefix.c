/* The watched prefixes of a worker: how watches begin, what Redis reports, and the steps. */
#include "locks/watching/prefix.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    UNSEEN_MOST = 4096,      /* dirty names while there is no watch */
    FORGOTTEN_AT_ONCE = 250, /* names, in one turn of the loop */
};

/* Asks Redis to report changes, on the same connection as the scan and before it. */
static void prefixes_track(struct prefixes *prefixes)
{
    struct slice key_prefix = prefixes->locks->options.key_prefix;
    char prefix[KEY_PREFIX_LENGTH + 1];
    if (prefixes->tracking)
        return;
    memcpy(prefix, key_prefix.bytes, key_prefix.length);
    prefix[key_prefix.length] = '{';
    prefixes->tracking = true;
    store_track(prefixes->locks->store, (struct slice){prefix, key_prefix.length + 1});
}

/* Ends the tracking of keys when no prefix is watched any more. */
static void prefixes_sleep(struct prefixes *prefixes)
{
    struct watched_prefix *watched;
    LIST_FOREACH (watched, &prefixes->list, others)
        if (watched->state != PREFIX_CLOSING)
            return;
    prefixes->tracking = false;
    store_untrack(prefixes->locks->store);
}

static void prefix_rest(struct watched_prefix *watched)
{
    if (watched->state == PREFIX_CLOSING) {
        if (prefix_name_forget_some(&watched->known, FORGOTTEN_AT_ONCE))
            watched_prefix_free(watched);
    } else if (watched->watch_count == 0) {
        watched->state = PREFIX_CLOSING;
        prefixes_sleep(watched->locks->prefixes);
    } else {
        prefix_round_begin(watched);
    }
}

static void prefix_on_step(uv_timer_t *timer)
{
    struct watched_prefix *watched = timer->data;
    const char *silent = "Redis does not report changes (the log of batond says why)";
    switch (watched->round.phase) {
    case ROUND_MARKED:
    case ROUND_GATHERING:
        prefix_round_gather(watched);
        break;
    case ROUND_ANSWERING:
        prefix_round_answer(watched);
        break;
    case ROUND_MARKING:
        prefix_round_fail(watched, silent);
        break;
    case ROUND_INSPECTING:
        break;
    case ROUND_RESTING:
        prefix_rest(watched);
    }
    watched_prefix_plan(watched);
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
    prefixes_track(prefixes);
    return watched_prefix_open(prefixes, prefix, prefix_on_step);
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

static void prefix_doubt(struct watched_prefix *watched)
{
    if (watched->state == PREFIX_SCANNING)
        watched->state = PREFIX_SCANNING_AGAIN;
    else if (watched->state == PREFIX_KNOWN)
        watched->state = PREFIX_UNKNOWN;
    prefix_round_doubt(watched);
    if (watched->watch_count > 0)
        prefix_scan(watched);
    watched_prefix_plan(watched);
}

static void prefix_invalidate(struct watched_prefix *watched, struct slice name)
{
    if (name.length == 0 || !watched_prefix_has(watched, name))
        return;
    prefix_name_invalidate(&watched->known, prefix_name_get(&watched->known, name));
    if (watched->watch_count == 0 && watched->known.dirty_count > UNSEEN_MOST)
        watched->idle = 0; /* it is closed at once */
    if (watched->round.phase == ROUND_RESTING)
        watched_prefix_plan(watched);
}

void prefixes_invalidate(struct locks *locks, struct slice key)
{
    struct watched_prefix *watched;
    char bytes[NAME_LENGTH];
    if (!locks->prefixes)
        return;
    struct slice name = key.length > 0 ? operation_name(locks, key, bytes) : key;
    LIST_FOREACH (watched, &locks->prefixes->list, others) {
        if (watched->state == PREFIX_CLOSING)
            continue;
        if (key.length == 0)
            prefix_doubt(watched);
        else if (!prefix_round_takes(watched, key))
            prefix_invalidate(watched, name);
    }
}

void prefixes_lost(struct locks *locks)
{
    struct watched_prefix *watched;
    if (!locks->prefixes)
        return;
    LIST_FOREACH (watched, &locks->prefixes->list, others)
        watched->has_lost = true;
    prefixes_invalidate(locks, slice_of(NULL));
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

void prefixes_close(struct prefixes *prefixes)
{
    if (!prefixes)
        return;
    for (struct watched_prefix *watched; (watched = LIST_FIRST(&prefixes->list));) {
        while (!prefix_name_forget_some(&watched->known, SIZE_MAX))
            ;
        watched_prefix_free(watched);
    }
    free(prefixes);
}
