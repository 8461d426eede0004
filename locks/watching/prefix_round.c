/* Rounds, from the mark to the answers. The last step comes first in this file. */
#include "base/memory.h"
#include "locks/scripts/scripts.h"
#include "locks/watching/prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOGETHER_MS = 2,    /* changes within this time are inspected together */
    AGAIN_MS = 200,     /* after a round that failed */
    MARK_MORE_MS = 200, /* than Redis has to answer a call */
    /* Bounds of one turn of the loop, which keep it to some milliseconds: */
    INSPECTS_AT_ONCE = 32,   /* inspects under way... */
    REPORTS_AT_ONCE = 16384, /* ...and these times the watches that each may concern */
    NAMES_AT_ONCE = 1000,    /* names that a step goes through */
    ANSWERS_AT_ONCE = 256,
};

static int64_t greater(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static bool has_snapshot(const struct prefix_watch *watch)
{
    return watch->position.snapshot > watch->position.after;
}

/* Whether this is news for the watch. */
static bool prefix_round_concerns(const struct prefix_watch *watch, const struct prefix_name *known)
{
    const struct prefix_position *position = &watch->position;
    int64_t known_up_to =
        known->held ? position->after : greater(position->after, position->snapshot);
    return known->version.at > known_up_to && prefix_watch_has(watch, known->name);
}

static void prefix_round_report(struct watched_prefix *watched, const struct prefix_name *known,
                                const struct lock_view *view)
{
    struct prefix_watch *watch;
    char *shared = NULL;
    LIST_FOREACH (watch, &watched->watches, others) {
        if (watch->state == WATCH_STARTING || !prefix_round_concerns(watch, known))
            continue;
        watch->reported++;
        watch->listener.each(watch->listener.context, known->name, view, &shared);
    }
    free(shared);
}

void prefix_round_answer(struct watched_prefix *watched)
{
    struct round *round = &watched->round;
    struct prefix_watch *watch;
    for (int i = 0; (watch = LIST_FIRST(&watched->due)) && i < ANSWERS_AT_ONCE; i++) {
        if (round->error)
            prefix_watch_give_up(watch, round->error);
        else
            prefix_watch_answer(watch);
    }
    if (LIST_EMPTY(&watched->due))
        round->phase = ROUND_RESTING;
}

/* The position that an answer reaches: before what the limit has left out. */
static int64_t reached_by(const struct prefix_watch *watch, int64_t time)
{
    if (watch->horizon == INT64_MAX)
        return greater(time, watch->position.snapshot);
    return watch->horizon < time ? watch->horizon : time;
}

/* Takes the result of the round. Returns whether the watch is to be answered: a snapshot is, even
 * if nothing is held. */
static bool prefix_watch_settle(struct prefix_watch *watch, const struct round *round)
{
    int64_t *after = &watch->position.after, reached = reached_by(watch, round->time);
    bool starts = watch->state == WATCH_GATHERED;
    bool is_due =
        watch->over || watch->reported > 0 || (starts && (has_snapshot(watch) || round->error));
    bool is_behind = round->is_doubtful || watch->horizon < INT64_MAX;
    watch->state = is_behind ? WATCH_STARTING : WATCH_FOLLOWING;
    watch->watched->wanted |= is_behind;
    if (round->error || round->is_doubtful)
        return is_due;
    if (is_due)
        *after = reached;
    else if (starts)
        *after = greater(*after, reached);
    return is_due;
}

static void prefix_round_end(struct watched_prefix *watched)
{
    struct round *round = &watched->round;
    struct prefix_watch *watch, *next;
    round->phase = ROUND_ANSWERING;
    watched->not_before = uv_now(watched->locks->loop) + (round->error ? AGAIN_MS : TOGETHER_MS);
    prefix_scan_forget_oldest(watched);
    for (watch = LIST_FIRST(&watched->watches); watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch->state != WATCH_STARTING && prefix_watch_settle(watch, round)) {
            LIST_REMOVE(watch, others);
            LIST_INSERT_HEAD(&watched->due, watch, others);
        }
    }
    if (watched->watch_count > 0)
        prefix_scan(watched);
    prefix_round_answer(watched);
    watched_prefix_plan(watched);
}

static void prefix_round_inspect(struct watched_prefix *watched);

/* One name that Redis is asked about. */
struct prefix_inspection {
    struct watched_prefix *watched;
    struct prefix_name *known;
    uint64_t sent;
};

/* A name that Redis has no record of is no news, unless it was held when it was last seen. */
static void prefix_round_read(const struct prefix_inspection *inspection,
                              const struct lock_view *view)
{
    struct watched_prefix *watched = inspection->watched;
    struct prefix_name *known = inspection->known;
    bool is_held = view->hold_count > 0;
    if (!is_held && view->last_release.fence == 0 && !known->held) {
        prefix_name_forget(&watched->known, known);
        return;
    }
    uint64_t end = inspection->sent;
    if (view->holder_count > 0)
        end += (uint64_t)view->holders[0].ttl_ms;
    prefix_name_seen(&watched->known, known, view->version, is_held, end);
    prefix_round_report(watched, known, view);
}

static void prefix_round_on_inspected(void *context, const struct locks_reply *reply)
{
    struct prefix_inspection *inspection = context;
    struct watched_prefix *watched = inspection->watched;
    struct prefix_name *known = inspection->known;
    watched->round.inspecting--;
    prefix_name_settle(known);
    if (reply->result == LOCKS_DONE) {
        prefix_round_read(inspection, &reply->view);
    } else if (reply->result == LOCKS_DAMAGED) {
        prefix_name_forget(&watched->known, known); /* Redis reports when it changes */
    } else {
        prefix_name_invalidate(&watched->known, known);
        watched->round.error = reply->error;
    }
    free(inspection);
    prefix_round_inspect(watched);
}

/* Inspects the next names, or ends the round. */
static void prefix_round_inspect(struct watched_prefix *watched)
{
    struct round *round = &watched->round;
    struct locks *locks = watched->locks;
    size_t share = REPORTS_AT_ONCE / (watched->watch_count + 1) + 1;
    size_t most = share < INSPECTS_AT_ONCE ? share : INSPECTS_AT_ONCE;
    struct prefix_name *known;
    for (; round->left > 0 && round->inspecting < most &&
           (known = prefix_name_take_dirty(&watched->known));
         round->left--) {
        struct prefix_inspection *inspection = memory_checked(malloc(sizeof *inspection));
        *inspection = (struct prefix_inspection){watched, known, uv_now(locks->loop)};
        round->inspecting++;
        locks_inspect(locks, known->name, slice_of(NULL), LOCK_WAITERS_SHOWN,
                      prefix_round_on_inspected, inspection);
    }
    if (round->inspecting == 0)
        prefix_round_end(watched);
}

/* Invalidates the names that are news for the watch, from its version on, up to its limit. Names
 * that changed in the same microsecond stay together. Returns false if there are more. */
static bool gather_news(struct prefix_watch *watch, size_t *left)
{
    struct prefix_names *table = &watch->watched->known;
    struct prefix_name *known = prefix_name_after(table, watch->cursor);
    for (; known; known = prefix_name_next(table, known)) {
        bool is_tie = known->version.at == watch->cursor;
        if (*left == 0 && !is_tie)
            return false;
        *left -= *left > 0;
        if (prefix_round_concerns(watch, known)) {
            if (watch->gathered >= watch->limit && !is_tie) {
                watch->horizon = known->version.at - 1;
                break;
            }
            prefix_name_invalidate(table, known);
            watch->gathered++;
        }
        watch->cursor = known->version.at;
    }
    watch->state = WATCH_GATHERED;
    return true;
}

/* If the table does not have all changes after the position of the watch, a snapshot begins. */
static void prefix_watch_enter(struct prefix_watch *watch)
{
    int64_t time = watch->watched->round.time;
    if (!prefix_scan_covers(watch->watched, &watch->position, time)) {
        watch->position = (struct prefix_position){.after = 0, .snapshot = time};
        watch->begins = true;
    }
    watch->state = WATCH_GATHERING;
    watch->cursor = watch->position.after;
    watch->horizon = INT64_MAX;
    watch->gathered = 0;
}

/* Returns false if there are more. */
static bool prefix_watches_gather(struct watched_prefix *watched, size_t *left)
{
    struct prefix_watch *watch;
    LIST_FOREACH (watch, &watched->watches, others) {
        if (watch->state == WATCH_STARTING) {
            if (*left == 0)
                return false;
            --*left;
            prefix_watch_enter(watch);
        }
        if (watch->state == WATCH_GATHERING && !gather_news(watch, left))
            return false;
    }
    return true;
}

/* Redis has reported every change before the mark. */
void prefix_round_gather(struct watched_prefix *watched)
{
    struct round *round = &watched->round;
    struct prefix_names *known = &watched->known;
    size_t left = NAMES_AT_ONCE;
    round->phase = ROUND_GATHERING;
    if (watched->has_lost && !round->is_doubtful) {
        watched->has_lost = false;
        watched->since = greater(watched->since, round->time);
    }
    if (!prefix_name_invalidate_ended(known, uv_now(watched->locks->loop) + 1, left) ||
        !prefix_watches_gather(watched, &left))
        return;
    round->phase = ROUND_INSPECTING;
    round->left = known->dirty_count;
    prefix_round_inspect(watched);
}

void prefix_round_doubt(struct watched_prefix *watched)
{
    struct round *round = &watched->round;
    struct prefix_watch *watch;
    round->is_doubtful = true;
    watched->wanted = true;
    if (round->phase == ROUND_GATHERING || round->phase == ROUND_INSPECTING)
        return; /* its end lets the watches start again */
    LIST_FOREACH (watch, &watched->watches, others)
        watch->state = WATCH_STARTING;
    if (round->phase == ROUND_MARKING || round->phase == ROUND_MARKED)
        round->phase = ROUND_RESTING;
}

void prefix_round_fail(struct watched_prefix *watched, const char *error)
{
    struct prefix_watch *watch;
    watched->round.error = error;
    LIST_FOREACH (watch, &watched->watches, others)
        if (watch->state == WATCH_STARTING)
            watch->state = WATCH_GATHERED;
    prefix_round_end(watched);
}

/* Redis reports together the keys that changed together, and one of them may come after the mark:
 * the loop takes one more turn first. */
static void round_on_mark(struct watched_prefix *watched)
{
    if (--watched->round.due > 0)
        return;
    watched->round.phase = ROUND_MARKED;
    watched_prefix_plan(watched);
}

struct marking {
    struct watched_prefix *watched;
    char mark[MARK_LENGTH];
};

static void prefix_round_marked(void *context, const struct store_result *result)
{
    struct marking *marking = context;
    struct watched_prefix *watched = marking->watched;
    struct round *round = &watched->round;
    bool is_current = round->phase == ROUND_MARKING && strcmp(round->mark, marking->mark) == 0;
    int64_t time;
    free(marking);
    watched->marking--;
    if (!is_current) {
        watched_prefix_plan(watched);
    } else if (result->outcome != STORE_REPLIED || !value_integer(result->reply, &time)) {
        prefix_round_fail(watched, operation_unavailable_because(result));
    } else {
        round->time = round->time == 0 || time < round->time ? time : round->time;
        round_on_mark(watched);
    }
}

/* The mark's key stands beside the main key of the empty name, which no lock has, or in a Cluster
 * of a tag that leads to the shard. No lock has a key of this kind. */
static void prefix_round_mark(struct watched_prefix *watched, unsigned shard)
{
    struct locks *locks = watched->locks;
    struct marking *marking = memory_checked(malloc(sizeof *marking));
    char key[KEY_LENGTH], tag[STORE_TAG_SIZE], text[MARK_LENGTH];
    marking->watched = watched;
    memcpy(marking->mark, watched->round.mark, sizeof marking->mark);
    snprintf(text, sizeof text, "%.*s.%u", MARK_LENGTH - DECIMAL_TEXT, watched->round.mark, shard);
    store_tag(locks->store, shard, tag);
    watched->round.due += 2;
    watched->marking++;
    const struct slice arguments[] = {stamp_placeholder(), slice_of(text)};
    const struct script_call call = {
        .script = &script_mark,
        .key = operation_key(locks, slice_of(tag), key),
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = prefix_round_marked,
        .context = marking,
    };
    store_eval(locks->store, &call);
}

void prefix_round_begin(struct watched_prefix *watched)
{
    struct locks *locks = watched->locks;
    struct round *round = &watched->round;
    unsigned position = 0, shard;
    watched->wanted = false;
    free(round->reported);
    *round = (struct round){.phase = ROUND_MARKING,
                            .overdue =
                                uv_now(locks->loop) + store_timeout_ms(locks->store) + MARK_MORE_MS,
                            .shards = store_shard_count(locks->store)};
    snprintf(round->mark, sizeof round->mark, "%s:%" PRIu64, watched->mark_id, ++watched->marks);
    round->reported = memory_checked(calloc(round->shards + 1, sizeof *round->reported));
    for (; store_seek_shard(locks->store, &position, &shard); position++)
        prefix_round_mark(watched, shard);
}

/* Reads …:mark:MARK.SHARD. Returns -1 if the key is no mark of this round. */
static int shard_of_mark(const struct watched_prefix *watched, struct slice key)
{
    char end[MARK_LENGTH + sizeof ":mark:."], digits[16];
    size_t length = (size_t)snprintf(end, sizeof end, ":mark:%s.", watched->round.mark);
    const char *found = memmem(key.bytes, key.length, end, length);
    if (!found)
        return -1;
    const char *number = found + length;
    snprintf(digits, sizeof digits, "%.*s", (int)(key.bytes + key.length - number), number);
    unsigned long shard = strtoul(digits, NULL, 10);
    return shard < watched->round.shards ? (int)shard : -1;
}

bool prefix_round_takes(struct watched_prefix *watched, struct slice key)
{
    struct round *round = &watched->round;
    int shard = round->phase == ROUND_MARKING ? shard_of_mark(watched, key) : -1;
    if (shard < 0)
        return false;
    if (!round->reported[shard]) {
        round->reported[shard] = true;
        round_on_mark(watched);
    }
    return true;
}
