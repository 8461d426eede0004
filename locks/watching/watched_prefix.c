/* The life of a watched prefix: what is due when, and what Redis tells of its names. */
#include "base/memory.h"
#include "base/random.h"
#include "locks/watching/prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINGER_MS = 10000,
    UNSEEN_MOST = 4096,      /* names touched while there is no watch */
    FORGOTTEN_AT_ONCE = 250, /* names, in one turn of the loop */
};

static uint64_t prefix_now(const struct watched_prefix *watched)
{
    return uv_now(watched->locks->loop);
}

bool watched_prefix_has(const struct watched_prefix *watched, struct slice name)
{
    size_t length = watched->prefix_length;
    return length == 0 ||
           (name.length >= length && memcmp(name.bytes, watched->prefix, length) == 0);
}

/* Redis is asked to tell of changes on the same connection as the scan, and before it. */
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

struct watched_prefix *watched_prefix_open(struct prefixes *prefixes, struct slice prefix)
{
    struct locks *locks = prefixes->locks;
    struct watched_prefix *watched = memory_checked(calloc(1, sizeof *watched + prefix.length));
    uint64_t id;
    prefixes_track(prefixes);
    watched->locks = locks;
    prefix_names_init(&watched->known);
    random_bytes(&id, sizeof id);
    snprintf(watched->mark_id, sizeof watched->mark_id, "%016" PRIx64, id);
    uv_timer_init(locks->loop, &watched->timer);
    watched->timer.data = watched;
    watched->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(watched->prefix, prefix.bytes, prefix.length);
    LIST_INSERT_HEAD(&prefixes->list, watched, others);
    return watched;
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

static void watched_prefix_on_closed(uv_handle_t *timer)
{
    struct watched_prefix *watched = timer->data;
    free(watched->round.touched);
    free(watched);
}

static void watched_prefix_free(struct watched_prefix *watched)
{
    LIST_REMOVE(watched, others);
    uv_close((uv_handle_t *)&watched->timer, watched_prefix_on_closed);
}

/* When the next step is due, in loop time; UINT64_MAX: Redis or a client has the next word. */
static uint64_t next_time(const struct watched_prefix *watched)
{
    switch (watched->round.phase) {
    case ROUND_MARKED:
        return 0;
    case ROUND_GATHERING:
    case ROUND_ANSWERING:
        return prefix_now(watched) + 1; /* in libuv 1.44 a timer set to now fires in this turn */
    case ROUND_MARKING:
        return watched->round.overdue;
    case ROUND_LOOKING:
        return UINT64_MAX;
    case ROUND_RESTING:
        break;
    }
    if (watched->state == PREFIX_CLOSING)
        return prefix_now(watched) + 1;
    if (watched->state == PREFIX_SCANNING || watched->state == PREFIX_SCANNING_AGAIN)
        return UINT64_MAX;
    if (watched->watch_count == 0)
        return watched->marking > 0 ? UINT64_MAX : watched->idle + LINGER_MS;
    if (watched->wanted || watched->known.touched_count > 0)
        return watched->not_before;
    uint64_t end = prefix_name_next_end(&watched->known);
    if (end == UINT64_MAX)
        return end;
    return end + 1 > watched->not_before ? end + 1 : watched->not_before;
}

static void watched_prefix_rest(struct watched_prefix *watched)
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

static void watched_prefix_on_timer(uv_timer_t *timer)
{
    struct watched_prefix *watched = timer->data;
    const char *silent = "Redis does not tell of changes (the log of batond says why)";
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
    case ROUND_LOOKING:
        break;
    case ROUND_RESTING:
        watched_prefix_rest(watched);
    }
    watched_prefix_plan(watched);
}

void watched_prefix_plan(struct watched_prefix *watched)
{
    uint64_t at = next_time(watched), now = prefix_now(watched);
    if (uv_is_closing((uv_handle_t *)&watched->timer))
        return;
    if (at == UINT64_MAX)
        uv_timer_stop(&watched->timer);
    else
        uv_timer_start(&watched->timer, watched_prefix_on_timer, at > now ? at - now : 0, 0);
}

void prefix_scan_done(struct watched_prefix *watched, const char *error)
{
    struct prefix_watch *watch, *next;
    for (watch = LIST_FIRST(&watched->watches); watch && error; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch->state == WATCH_STARTING)
            prefix_watch_give_up(watch, error);
    }
    watched_prefix_plan(watched);
}

static void watched_prefix_doubt(struct watched_prefix *watched)
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

static void watched_prefix_touch(struct watched_prefix *watched, struct slice name)
{
    if (name.length == 0 || !watched_prefix_has(watched, name))
        return;
    prefix_name_touch(&watched->known, prefix_name_get(&watched->known, name));
    if (watched->watch_count == 0 && watched->known.touched_count > UNSEEN_MOST)
        watched->idle = 0; /* it is closed at once */
    if (watched->round.phase == ROUND_RESTING)
        watched_prefix_plan(watched);
}

void prefixes_touched(struct locks *locks, struct slice key)
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
            watched_prefix_doubt(watched);
        else if (!prefix_round_takes(watched, key))
            watched_prefix_touch(watched, name);
    }
}

void prefixes_lost(struct locks *locks)
{
    struct watched_prefix *watched;
    if (!locks->prefixes)
        return;
    LIST_FOREACH (watched, &locks->prefixes->list, others)
        watched->has_lost = true;
    prefixes_touched(locks, slice_of(NULL));
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
