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
    LOOKS_AT_ONCE = 32,     /* inspects under way... */
    TELLS_AT_ONCE = 16384,  /* ...and these times the watches that may hear of each */
    TOUCHES_AT_ONCE = 1000, /* names that a step goes through */
    ANSWERS_AT_ONCE = 256,
};

static bool is_beyond(struct slice name, struct slice other)
{
    size_t common = name.length < other.length ? name.length : other.length;
    int order = memcmp(name.bytes, other.bytes, common);
    return order > 0 || (order == 0 && name.length > other.length);
}

/* Whether this is news for the watch. */
static bool prefix_round_concerns(const struct prefix_watch *watch, const struct prefix_name *known)
{
    int64_t known_up_to = known->held ? watch->after : watch->since;
    if (watch->torn_length > 0 && known->version == watch->after)
        return known->version >= known_up_to &&
               is_beyond(known->name, (struct slice){watch->torn, watch->torn_length});
    return known->version > known_up_to;
}

/* The limit does not separate names that changed in the same microsecond. */
static void prefix_round_tell(struct prefix_watch *watch, struct slice name,
                              const struct lock_view *view, char **shared)
{
    if (view->version > watch->horizon)
        return;
    if (watch->told >= watch->limit && view->version != watch->last_told) {
        watch->horizon = view->version - 1;
        return;
    }
    watch->told++;
    watch->last_told = view->version;
    watch->listener.each(watch->listener.context, name, view, shared);
}

static void prefix_round_tell_all(struct prefixes *prefixes, const struct prefix_name *known,
                                  const struct lock_view *view)
{
    struct prefix_watch *next;
    char *shared = NULL;
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch; watch = next) {
        next = LIST_NEXT(watch, others);
        if (watch->in_round && prefix_round_concerns(watch, known) &&
            prefix_watch_has(watch, known->name))
            prefix_round_tell(watch, known->name, view, &shared);
    }
    free(shared);
}

/* The first round of a watch is over without news for it. */
static void come_further(struct prefix_watch *watch)
{
    struct prefixes *prefixes = watch->prefixes;
    if (watch->horizon < INT64_MAX) { /* names have changed again: a later round tells of them */
        watch->after = watch->horizon;
        watch->horizon = INT64_MAX;
        prefixes->wanted = true;
    } else {
        watch->begun = true;
        watch->after = watch->after > prefixes->round.time ? watch->after : prefixes->round.time;
        watch->since = watch->since > watch->after ? watch->since : watch->after;
    }
    watch->torn_length = 0;
}

static void prefix_round_find_due(struct prefixes *prefixes)
{
    struct prefix_watch *next;
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch; watch = next) {
        next = LIST_NEXT(watch, others);
        bool starts = !watch->begun;
        if (!watch->in_round)
            continue;
        watch->in_round = false;
        if (watch->told > 0 || watch->over || (starts && prefixes->round.error))
            prefix_watch_move(watch, &prefixes->due);
        else if (starts)
            come_further(watch);
    }
}

void prefix_round_answer(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    struct prefix_watch *watch;
    for (int i = 0; (watch = LIST_FIRST(&prefixes->due)) && i < ANSWERS_AT_ONCE; i++) {
        if (round->error)
            prefix_watch_give_up(watch, round->error);
        else
            prefix_watch_answer(watch, round->time);
    }
    if (LIST_EMPTY(&prefixes->due))
        round->phase = ROUND_RESTING;
}

static void end_round(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    round->phase = ROUND_ANSWERING;
    prefixes->not_before = uv_now(prefixes->locks->loop) + (round->error ? AGAIN_MS : TOGETHER_MS);
    watched_prefixes_forget_oldest(&prefixes->watched, &prefixes->known);
    prefix_round_find_due(prefixes);
    prefix_round_answer(prefixes);
    prefixes_plan(prefixes);
}

static void prefix_round_look_on(struct prefixes *prefixes);

/* A name that Redis has no record of is no news, unless it was held when it was last seen. */
static void prefix_round_see(struct prefixes *prefixes, const struct prefix_inspection *inspection,
                             const struct lock_view *view)
{
    struct prefix_name *known = inspection->known;
    bool is_held = view->hold_count > 0;
    if (!is_held && view->last_release.fence == 0 && !known->held) {
        if (!known->touched)
            prefix_name_forget(&prefixes->known, known);
        return;
    }
    uint64_t end = inspection->sent;
    if (view->holder_count > 0)
        end += (uint64_t)view->holders[0].ttl_ms;
    prefix_name_seen(&prefixes->known, known, view->version, is_held, end);
    prefix_round_tell_all(prefixes, known, view);
}

static void prefix_round_looked(void *context, const struct locks_reply *reply)
{
    struct prefix_inspection *inspection = context;
    struct prefixes *prefixes = inspection->prefixes;
    struct round *round = &prefixes->round;
    struct prefix_name *known = inspection->known;
    round->looking--;
    known->looking = false;
    if (known->forgotten) {
        free(known);
    } else if (reply->result == LOCKS_DONE) {
        prefix_round_see(prefixes, inspection, &reply->view);
    } else if (reply->result == LOCKS_DAMAGED) { /* Redis tells when it changes */
        if (!known->touched)
            prefix_name_forget(&prefixes->known, known);
    } else {
        prefix_name_touch(&prefixes->known, known);
        round->error = reply->error;
    }
    free(inspection);
    prefix_round_look_on(prefixes);
}

/* Inspects the next names, or ends the round. */
static void prefix_round_look_on(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    size_t share = TELLS_AT_ONCE / (prefixes->watch_count + 1) + 1;
    size_t most = share < LOOKS_AT_ONCE ? share : LOOKS_AT_ONCE;
    if (prefixes->known.touched_count < round->left) /* all were forgotten meanwhile */
        round->left = prefixes->known.touched_count;
    for (; round->left > 0 && round->looking < most; round->left--) {
        struct prefix_name *known = prefix_name_take_touched(&prefixes->known);
        struct prefix_inspection *inspection = memory_checked(malloc(sizeof *inspection));
        if (!known)
            abort();
        *inspection = (struct prefix_inspection){prefixes, known, uv_now(prefixes->locks->loop)};
        known->looking = true;
        round->looking++;
        locks_inspect(prefixes->locks, known->name, slice_of(NULL), LOCK_WAITERS_SHOWN,
                      prefix_round_looked, inspection);
    }
    if (round->looking == 0)
        end_round(prefixes);
}

/* Touches all held names, since changes may have been missed. Returns false if there are more. */
static bool touch_doubtful(struct prefixes *prefixes, size_t *left)
{
    if (prefixes->doubtful == INT64_MAX)
        return true;
    struct prefix_name *known = prefix_name_after(&prefixes->known, prefixes->doubtful);
    for (; known; known = known->newer) {
        if (*left == 0 && known->version != prefixes->doubtful)
            return false;
        *left -= *left > 0;
        prefixes->doubtful = known->version;
        if (known->held)
            prefix_name_touch(&prefixes->known, known);
    }
    prefixes->doubtful = INT64_MAX;
    return true;
}

/* Touches the names that are news for the watch, from its version on, up to its limit. Returns
 * false if there are more. */
static bool touch_news(struct prefix_watch *watch, size_t *left)
{
    struct prefix_names *table = &watch->prefixes->known;
    struct prefix_name *known = prefix_name_after(table, watch->cursor);
    for (; known; known = known->newer) {
        bool is_tie = known->version == watch->cursor;
        if (*left == 0 && !is_tie)
            return false;
        *left -= *left > 0;
        if (prefix_round_concerns(watch, known) && prefix_watch_has(watch, known->name)) {
            if (watch->gathered >= watch->limit && !is_tie) {
                watch->horizon = known->version - 1;
                break;
            }
            prefix_name_touch(table, known);
            watch->gathered++;
        }
        watch->cursor = known->version;
    }
    watch->gathering = false;
    return true;
}

/* Changes as old as the client asks for may be forgotten: it hears of all held names. */
static void begin_anew(struct prefix_watch *watch)
{
    watch->complete = false;
    watch->is_new = true;
    watch->after = watch->since = 0;
    watch->torn_length = 0;
}

static void enter_round(struct prefix_watch *watch)
{
    struct prefixes *prefixes = watch->prefixes;
    int64_t time = prefixes->round.time;
    int64_t oldest = time - prefixes->locks->options.retention_ms * 1000;
    bool covered = watched_prefix_covers(watch->watched, watch->since);
    watch->entered = prefixes->marks;
    watch->in_round = watch->watched->ready && (watch->begun || watch->scanned || covered);
    if (!watch->in_round || watch->begun)
        return;
    if (!watch->is_new && (watch->since < oldest || !covered))
        begin_anew(watch);
    if (watch->since == 0)
        watch->since = time;
    watch->gathering = true;
    watch->gathered = 0;
    watch->cursor = watch->after - (watch->torn_length > 0);
}

/* Returns false if there are more. */
static bool gather(struct prefixes *prefixes, size_t *left)
{
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch;
         watch = LIST_NEXT(watch, others)) {
        if (watch->entered != prefixes->marks) {
            if (*left == 0)
                return false;
            --*left;
            enter_round(watch);
        }
        if (watch->gathering && !touch_news(watch, left))
            return false;
    }
    return true;
}

/* Redis has told of every change before the mark. */
void prefix_round_gather(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    struct prefix_names *known = &prefixes->known;
    size_t left = TOUCHES_AT_ONCE;
    round->phase = ROUND_GATHERING;
    if (!prefix_name_touch_ended(known, uv_now(prefixes->locks->loop) + 1, left) ||
        !touch_doubtful(prefixes, &left) || !gather(prefixes, &left))
        return;
    round->phase = ROUND_LOOKING;
    round->left = known->touched_count;
    round->looking = 0;
    prefix_round_look_on(prefixes);
}

void prefix_round_fail(struct prefixes *prefixes, const char *error)
{
    prefixes->round.error = error;
    prefixes->round.time = 0;
    for (struct prefix_watch *watch = LIST_FIRST(&prefixes->watches); watch;
         watch = LIST_NEXT(watch, others))
        watch->in_round = watch->begun || watch->watched->ready;
    end_round(prefixes);
}

/* Redis tells together of keys that changed together, and one of them may come after the mark: the
 * loop takes one more turn first. */
static void round_on_mark(struct prefixes *prefixes)
{
    if (--prefixes->round.due > 0)
        return;
    prefixes->round.phase = ROUND_MARKED;
    prefixes_plan(prefixes);
}

struct marking {
    struct prefixes *prefixes;
    char mark[MARK_LENGTH];
};

static void prefix_round_marked(void *context, const struct store_result *result)
{
    struct marking *marking = context;
    struct prefixes *prefixes = marking->prefixes;
    struct round *round = &prefixes->round;
    bool is_current = round->phase == ROUND_MARKING && strcmp(round->mark, marking->mark) == 0;
    int64_t time;
    free(marking);
    if (!is_current)
        return;
    if (result->outcome != STORE_REPLIED || !value_integer(result->reply, &time)) {
        prefix_round_fail(prefixes, operation_unavailable_because(result));
        return;
    }
    if (round->time == 0 || time < round->time)
        round->time = time;
    round_on_mark(prefixes);
}

/* The mark's key stands beside the main key of the empty name, which no lock has, or in a Cluster
 * of a tag that leads to the shard. No lock has a key of this kind. */
static void prefix_round_mark(struct prefixes *prefixes, unsigned shard)
{
    struct locks *locks = prefixes->locks;
    struct marking *marking = memory_checked(malloc(sizeof *marking));
    char key[KEY_LENGTH], tag[STORE_TAG_SIZE], text[MARK_LENGTH];
    marking->prefixes = prefixes;
    memcpy(marking->mark, prefixes->round.mark, sizeof marking->mark);
    snprintf(text, sizeof text, "%.*s.%u", MARK_LENGTH - DECIMAL_TEXT, prefixes->round.mark, shard);
    store_tag(locks->store, shard, tag);
    prefixes->round.due += 2;
    const struct slice arguments[] = {stamp_placeholder(), slice_of(text)};
    const struct script_call call = {
        .script = &script_mark,
        .key = operation_key(locks, slice_of(tag), key),
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = prefix_round_marked,
        .context = marking,
    };
    script_call_send(locks, &call);
}

void prefix_round_begin(struct prefixes *prefixes)
{
    struct locks *locks = prefixes->locks;
    struct round *round = &prefixes->round;
    unsigned position = 0, shard;
    prefixes->wanted = false;
    free(round->touched);
    *round = (struct round){.phase = ROUND_MARKING,
                            .overdue =
                                uv_now(locks->loop) + store_timeout_ms(locks->store) + MARK_MORE_MS,
                            .shards = store_shard_count(locks->store)};
    snprintf(round->mark, sizeof round->mark, "%s:%" PRIu64, prefixes->mark_id, ++prefixes->marks);
    round->touched = memory_checked(calloc(round->shards + 1, sizeof *round->touched));
    for (; store_seek_shard(locks->store, &position, &shard); position++)
        prefix_round_mark(prefixes, shard);
}

/* Reads …:mark:MARK.SHARD. Returns -1 if the key is no mark of this round. */
static int shard_of_mark(const struct prefixes *prefixes, struct slice key)
{
    char end[MARK_LENGTH + sizeof ":mark:."], digits[16];
    size_t length = (size_t)snprintf(end, sizeof end, ":mark:%s.", prefixes->round.mark);
    const char *found = memmem(key.bytes, key.length, end, length);
    if (!found)
        return -1;
    const char *number = found + length;
    snprintf(digits, sizeof digits, "%.*s", (int)(key.bytes + key.length - number), number);
    unsigned long shard = strtoul(digits, NULL, 10);
    return shard < prefixes->round.shards ? (int)shard : -1;
}

bool prefix_round_takes(struct prefixes *prefixes, struct slice key)
{
    struct round *round = &prefixes->round;
    int shard = round->phase == ROUND_MARKING ? shard_of_mark(prefixes, key) : -1;
    if (shard < 0)
        return false;
    if (!round->touched[shard]) {
        round->touched[shard] = true;
        round_on_mark(prefixes);
    }
    return true;
}
