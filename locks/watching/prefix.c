#include "locks/watching/prefix.h"

#include "base/memory.h"
#include "base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINGER_MS = 10000,
    UNSEEN_MOST = 4096,  /* names touched while there is no watch */
    SWEPT_AT_ONCE = 250, /* names, in one turn of the loop */
};

static uint64_t prefix_now(const struct prefixes *prefixes)
{
    return uv_now(prefixes->locks->loop);
}

bool prefix_watch_has(const struct prefix_watch *watch, struct slice name)
{
    const struct prefix_listener *listener = &watch->listener;
    return name.length >= watch->prefix_length &&
           memcmp(name.bytes, watch->prefix, watch->prefix_length) == 0 &&
           (!listener->wants || listener->wants(listener->context, name));
}

/* The end of a watch. */

void prefix_watch_move(struct prefix_watch *watch, struct prefix_watches *list)
{
    LIST_REMOVE(watch, others);
    LIST_INSERT_HEAD(list, watch, others);
}

static void prefix_watch_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void locks_unwatch_prefix(struct prefix_watch *watch)
{
    struct prefixes *prefixes = watch->prefixes;
    LIST_REMOVE(watch, others);
    prefixes->watch_count--;
    if (--watch->watched->watches == 0)
        watch->watched->idle = prefix_now(prefixes);
    uv_close((uv_handle_t *)&watch->timer, prefix_watch_on_closed);
    prefixes_plan(prefixes);
}

/* The client hears of what the limit has left out when it asks again. */
void prefix_watch_answer(struct prefix_watch *watch, int64_t time)
{
    struct prefix_listener listener = watch->listener;
    bool complete = watch->complete;
    int64_t after = watch->horizon < time ? watch->horizon : time;
    struct prefix_position reached = {.after = after, .since = watch->since};
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_DONE, &reached, complete, NULL);
}

void prefix_watch_give_up(struct prefix_watch *watch, const char *error)
{
    struct prefix_listener listener = watch->listener;
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_UNAVAILABLE, &(struct prefix_position){0}, false, error);
}

/* Regions and the table. */

static bool prefixes_have(const struct prefixes *prefixes, struct slice name)
{
    for (const struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
         watched = LIST_NEXT(watched, others))
        if (watched_prefix_has(watched, name))
            return true;
    return false;
}

/* The last watched prefix is closed: frees the table and ends the tracking of keys. */
static void sleep_at_last(struct prefixes *prefixes)
{
    prefix_name_forget_all(&prefixes->known);
    if (prefixes->tracking)
        store_untrack(prefixes->locks->store);
    prefixes->tracking = false;
    prefixes->wanted = false;
}

/* Forgets names that are in no watched prefix, some in each turn of the loop. */
static void prefixes_sweep(struct prefixes *prefixes)
{
    struct prefix_name *known = prefix_name_after(&prefixes->known, prefixes->sweeping), *next;
    for (size_t i = 0; known; known = next, i++) {
        if (i >= SWEPT_AT_ONCE && known->version != prefixes->sweeping)
            return;
        next = known->newer;
        prefixes->sweeping = known->version;
        if (!known->touched && !prefixes_have(prefixes, known->name))
            prefix_name_forget(&prefixes->known, known);
    }
    prefixes->sweeping = INT64_MAX;
    if (LIST_EMPTY(&prefixes->watched))
        sleep_at_last(prefixes);
}

/* Closes watched prefixes that have had no watch for a while. */
static void prefixes_prune(struct prefixes *prefixes)
{
    struct watched_prefix *next;
    for (struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched; watched = next) {
        next = LIST_NEXT(watched, others);
        if (watched->watches > 0 || prefix_now(prefixes) < watched->idle + LINGER_MS)
            continue;
        watched_prefix_close(watched);
        prefixes->sweeping = 0; /* from the oldest version on */
    }
}

/* Starts a scan of the prefix for the watch if the table does not have what it needs. */
static void prefixes_prepare(struct prefix_watch *watch)
{
    if (watched_prefix_covers(watch->watched, watch->since) ||
        (watch->watched->ready && watch->scanned))
        watch->prefixes->wanted = true;
    else if (!watch->watched->scanning)
        watched_prefix_scan(watch->watched, watch->since);
}

static void prefixes_on_scanned(void *context, struct watched_prefix *watched, const char *error)
{
    struct prefixes *prefixes = context;
    struct prefix_watch *next;
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch->watched != watched || watch->begun)
            continue;
        if (error) {
            prefix_watch_give_up(watch, error);
        } else {
            if (watch->since == 0 || watched->scan_since <= watch->since)
                watch->scanned = true;
            prefixes_prepare(watch);
        }
    }
    watched_prefixes_forget_oldest(&prefixes->watched, &prefixes->known);
    prefixes_plan(prefixes);
}

/* The timer. */

static uint64_t next_time(const struct prefixes *prefixes)
{
    const struct round *round = &prefixes->round;
    uint64_t at = UINT64_MAX;
    bool goes_on = round->phase == ROUND_GATHERING || round->phase == ROUND_ANSWERING ||
                   prefixes->sweeping < INT64_MAX;
    if (round->phase == ROUND_MARKED)
        at = 0;
    else if (goes_on) /* in libuv 1.44 a timer that sets itself to now fires in the same turn */
        at = prefix_now(prefixes) + 1;
    else if (round->phase == ROUND_MARKING)
        at = round->overdue;
    else if (round->phase == ROUND_RESTING && prefixes->watch_count > 0) {
        bool now = prefixes->wanted || prefixes->known.touched_count > 0;
        uint64_t end = prefix_name_next_end(&prefixes->known);
        at = now ? 0 : end < UINT64_MAX ? end + 1 : UINT64_MAX;
        at = at > prefixes->not_before ? at : prefixes->not_before;
    }
    for (const struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
         watched = LIST_NEXT(watched, others))
        if (watched->watches == 0 && watched->idle + LINGER_MS < at)
            at = watched->idle + LINGER_MS;
    return at;
}

static void prefixes_on_timer(uv_timer_t *timer)
{
    struct prefixes *prefixes = timer->data;
    const struct round *round = &prefixes->round;
    prefixes_prune(prefixes);
    if (prefixes->sweeping < INT64_MAX)
        prefixes_sweep(prefixes);
    if (round->phase == ROUND_MARKED || round->phase == ROUND_GATHERING)
        prefix_round_gather(prefixes);
    else if (round->phase == ROUND_ANSWERING)
        prefix_round_answer(prefixes);
    else if (round->phase == ROUND_MARKING && prefix_now(prefixes) >= round->overdue)
        prefix_round_fail(prefixes, "Redis does not tell of changes (the log of batond says why)");
    else if (round->phase == ROUND_RESTING && prefixes->watch_count > 0 &&
             prefix_now(prefixes) >= prefixes->not_before)
        prefix_round_begin(prefixes);
    prefixes_plan(prefixes);
}

void prefixes_plan(struct prefixes *prefixes)
{
    uint64_t at = next_time(prefixes), now = prefix_now(prefixes);
    if (at == UINT64_MAX)
        uv_timer_stop(&prefixes->timer);
    else
        uv_timer_start(&prefixes->timer, prefixes_on_timer, at > now ? at - now : 0, 0);
}

/* Changes that Redis tells of. */

/* Changes may have been missed: the next round inspects all held names, and each watched prefix is
 * scanned anew. Each watch begins again from its version. */
static void prefixes_doubt(struct prefixes *prefixes)
{
    for (struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
         watched = LIST_NEXT(watched, others))
        watched->since = INT64_MAX;
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch;
         watch = LIST_NEXT(watch, others)) {
        watch->begun = watch->scanned = watch->in_round = watch->gathering = false;
        if (watch->since < watch->watched->since)
            watch->watched->since = watch->since;
    }
    for (struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
         watched = LIST_NEXT(watched, others)) {
        if (watched->watches > 0)
            watched_prefix_doubt(watched, watched->since);
        else
            watched->idle = 0; /* it is closed at once */
    }
    prefixes->doubtful = 0;
    if (prefixes->round.phase == ROUND_MARKING)
        prefixes->round.phase = ROUND_RESTING;
}

static void prefixes_touch(struct prefixes *prefixes, struct slice key)
{
    char bytes[NAME_LENGTH];
    struct slice name = operation_name(prefixes->locks, key, bytes);
    if (name.length > 0 && prefixes_have(prefixes, name))
        prefix_name_touch(&prefixes->known, prefix_name_get(&prefixes->known, name));
    if (prefixes->watch_count == 0 && prefixes->known.touched_count > UNSEEN_MOST)
        for (struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
             watched = LIST_NEXT(watched, others))
            watched->idle = 0; /* it is closed at once */
}

void prefixes_touched(struct locks *locks, struct slice key)
{
    struct prefixes *prefixes = locks->prefixes;
    if (!prefixes || !prefixes->tracking)
        return;
    if (key.length == 0)
        prefixes_doubt(prefixes);
    else if (!prefix_round_takes(prefixes, key))
        prefixes_touch(prefixes, key);
    if (prefixes->round.phase == ROUND_RESTING)
        prefixes_plan(prefixes);
}

/* Watches begin, and all of them end. */

static struct prefixes *prefixes_of(struct locks *locks)
{
    if (locks->prefixes)
        return locks->prefixes;
    struct prefixes *prefixes = memory_checked(calloc(1, sizeof *prefixes));
    uint64_t id;
    prefixes->locks = locks;
    prefix_names_init(&prefixes->known);
    prefixes->doubtful = prefixes->sweeping = INT64_MAX;
    random_bytes(&id, sizeof id);
    snprintf(prefixes->mark_id, sizeof prefixes->mark_id, "%016" PRIx64, id);
    uv_timer_init(locks->loop, &prefixes->timer);
    prefixes->timer.data = prefixes;
    locks->prefixes = prefixes;
    return prefixes;
}

static void prefix_track(struct prefixes *prefixes)
{
    char prefix[KEY_PREFIX_LENGTH + 1];
    struct slice key_prefix = prefixes->locks->options.key_prefix;
    size_t length = key_prefix.length;
    memcpy(prefix, key_prefix.bytes, length);
    prefix[length++] = '{';
    prefixes->tracking = true;
    store_track(prefixes->locks->store, (struct slice){prefix, length});
}

static struct watched_prefix *prefixes_find(struct prefixes *prefixes, struct slice prefix)
{
    for (struct watched_prefix *watched = LIST_FIRST(&prefixes->watched); watched;
         watched = LIST_NEXT(watched, others))
        if (watched_prefix_has(watched, prefix))
            return watched;
    return watched_prefix_open(&prefixes->watched, prefixes->locks, &prefixes->known, prefix,
                               prefixes_on_scanned, prefixes);
}

static void prefix_watch_on_over(uv_timer_t *timer)
{
    struct prefix_watch *watch = timer->data;
    watch->over = true;
    watch->prefixes->wanted = true;
    prefixes_plan(watch->prefixes);
}

static struct prefix_watch *make_watch(struct prefixes *prefixes, struct slice prefix,
                                       const struct prefix_position *from)
{
    struct prefix_watch *watch = memory_checked(calloc(1, sizeof *watch + prefix.length));
    watch->prefixes = prefixes;
    watch->after = from->after;
    watch->since = from->since > from->after ? from->since : from->after;
    watch->is_new = watch->since == 0;
    watch->torn_length = from->name.length;
    if (from->name.length > 0)
        memcpy(watch->torn, from->name.bytes, from->name.length);
    watch->horizon = INT64_MAX;
    watch->complete = true;
    watch->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(watch->prefix, prefix.bytes, prefix.length);
    return watch;
}

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix,
                                        const struct prefix_position *from, int64_t wait_ms,
                                        size_t limit, const struct prefix_listener *listener)
{
    struct prefixes *prefixes = prefixes_of(locks);
    struct prefix_watch *watch = make_watch(prefixes, prefix, from);
    if (!prefixes->tracking)
        prefix_track(prefixes); /* on the same connection as the scan, and before it */
    watch->watched = prefixes_find(prefixes, prefix);
    watch->watched->watches++;
    watch->listener = *listener;
    watch->limit = limit;
    uv_timer_init(locks->loop, &watch->timer);
    watch->timer.data = watch;
    LIST_INSERT_HEAD(&prefixes->watches, watch, others);
    prefixes->watch_count++;
    watch->over = wait_ms == 0 || locks->draining;
    if (!watch->over)
        uv_timer_start(&watch->timer, prefix_watch_on_over, (uint64_t)wait_ms, 0);
    prefixes_prepare(watch);
    prefixes_plan(prefixes);
    return watch;
}

void prefixes_drain(struct locks *locks)
{
    if (!locks->prefixes)
        return;
    for (struct prefix_watch *watch = LIST_FIRST(&locks->prefixes->watches); watch;
         watch = LIST_NEXT(watch, others)) {
        uv_timer_stop(&watch->timer);
        watch->over = true;
    }
    locks->prefixes->wanted = true;
    prefixes_plan(locks->prefixes);
}

static void prefixes_on_closed(uv_handle_t *timer)
{
    struct prefixes *prefixes = timer->data;
    free(prefixes->round.touched);
    free(prefixes);
}

void prefixes_close(struct prefixes *prefixes)
{
    if (!prefixes)
        return;
    prefixes->tracking = false; /* the store is closed by now */
    for (struct watched_prefix *watched; (watched = LIST_FIRST(&prefixes->watched));)
        watched_prefix_close(watched);
    sleep_at_last(prefixes);
    uv_close((uv_handle_t *)&prefixes->timer, prefixes_on_closed);
}
