/* The record of a watched prefix, and when its next step is due. */
#include "base/memory.h"
#include "base/random.h"
#include "locks/watching/prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINGER_MS = 10000 };

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

struct watched_prefix *watched_prefix_open(struct prefixes *prefixes, struct slice prefix,
                                           uv_timer_cb step)
{
    struct locks *locks = prefixes->locks;
    struct watched_prefix *watched = memory_checked(calloc(1, sizeof *watched + prefix.length));
    uint64_t id;
    watched->locks = locks;
    watched->step = step;
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

static void watched_prefix_on_closed(uv_handle_t *timer)
{
    struct watched_prefix *watched = timer->data;
    free(watched->round.reported);
    free(watched);
}

void watched_prefix_free(struct watched_prefix *watched)
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
    case ROUND_INSPECTING:
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
    if (watched->wanted || watched->known.dirty_count > 0)
        return watched->not_before;
    uint64_t end = prefix_name_next_end(&watched->known);
    if (end == UINT64_MAX)
        return end;
    return end + 1 > watched->not_before ? end + 1 : watched->not_before;
}

void watched_prefix_plan(struct watched_prefix *watched)
{
    uint64_t at = next_time(watched), now = prefix_now(watched);
    if (uv_is_closing((uv_handle_t *)&watched->timer))
        return;
    if (at == UINT64_MAX)
        uv_timer_stop(&watched->timer);
    else
        uv_timer_start(&watched->timer, watched->step, at > now ? at - now : 0, 0);
}
