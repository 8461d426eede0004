/* Rounds: from the mark to the answers, told here from their end to their beginning. */
#include "locks/prefix.h"
#include "locks/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOGETHER_MS = 2, /* changes so close to each other are looked at together */
    AGAIN_MS = 200,  /* after a round that failed */
    MARK_LONGEST_MS = 1000,
    LOOKS_AT_ONCE = 256, /* so that Redis answers well before its deadline */
};

static uint64_t now_of(const struct prefixes *prefixes)
{
    return uv_now(prefixes->locks->loop);
}

/* Whether this is news for the watch. */
static bool concerns(const struct prefix_watch *watch, int64_t version, bool held)
{
    bool wants_all = !watch->begun && (watch->after == 0 || !watch->complete);
    return wants_all ? held : version > watch->after;
}

/* Names that changed in the same microsecond are not torn apart by the limit: between them there is
 * no version from which to go on. */
static void tell(struct prefix_watch *watch, struct slice name, const struct lock_view *view)
{
    if (watch->told >= watch->limit && view->version != watch->last_told) {
        if (view->version <= watch->horizon)
            watch->horizon = view->version - 1;
        return;
    }
    watch->told++;
    watch->last_told = view->version;
    watch->listener.each(watch->listener.context, name, view);
}

static void tell_all(struct prefixes *prefixes, const struct known *known,
                     const struct lock_view *view)
{
    struct prefix_watch *next;
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = next) {
        next = watch->next;
        if (watch->in_round && prefix_watch_has(watch, known->name) &&
            concerns(watch, known->version, known->held))
            tell(watch, known->name, view);
    }
}

static void answer_watches(struct prefixes *prefixes)
{
    struct prefix_watch *due = NULL, *next;
    const struct round *round = &prefixes->round;
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = next) {
        next = watch->next;
        bool starts = !watch->begun;
        if (!watch->in_round)
            continue;
        watch->in_round = false;
        if (watch->told > 0 || watch->over || (starts && round->error)) {
            prefix_watch_move(watch, &due);
        } else if (starts) {
            watch->begun = true;
            if (watch->after == 0)
                watch->after = round->time;
        }
    }
    const char *error = round->error;
    int64_t time = round->time;
    while (due) {
        if (error)
            prefix_watch_give_up(due, error);
        else
            prefix_watch_answer(due, time);
    }
}

static void end_round(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    free(round->looks);
    round->looks = NULL;
    round->phase = ROUND_RESTING;
    prefixes->not_before = now_of(prefixes) + (round->error ? AGAIN_MS : TOGETHER_MS);
    regions_forget_oldest(prefixes->regions, &prefixes->known);
    answer_watches(prefixes);
    prefixes_plan(prefixes);
}

static void look_on(struct prefixes *prefixes);

/* A name of which Redis knows nothing tells nothing, unless it was held when it was last seen. */
static void see(struct prefixes *prefixes, const struct look *look, const struct lock_view *view)
{
    struct known *known = look->known;
    bool is_held = view->hold_count > 0;
    if (!is_held && view->last_release.fence == 0 && !known->held) {
        if (!known->touched)
            known_forget(&prefixes->known, known);
        return;
    }
    uint64_t end = look->sent;
    if (view->holder_count > 0)
        end += (uint64_t)view->holders[0].ttl_ms;
    known_seen(&prefixes->known, known, view->version, is_held, end);
    tell_all(prefixes, known, view);
}

static void looked(void *context, const struct locks_reply *reply)
{
    struct look *look = context;
    struct prefixes *prefixes = look->prefixes;
    struct round *round = &prefixes->round;
    struct known *known = look->known;
    round->looking--;
    known->looking = false;
    if (known->forgotten) {
        free(known);
    } else if (reply->result == LOCKS_DONE) {
        see(prefixes, look, &reply->view);
    } else {
        known_touch(&prefixes->known, known);
        round->error = reply->error;
    }
    look_on(prefixes);
}

/* Asks about the next names, or ends the round. */
static void look_on(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    for (; round->next < round->count && round->looking < LOOKS_AT_ONCE; round->next++) {
        struct look *look = &round->looks[round->next];
        round->looking++;
        look->sent = now_of(prefixes);
        locks_inspect(prefixes->locks, look->known->name, slice_of(NULL), looked, look);
    }
    if (round->looking == 0)
        end_round(prefixes);
}

static int by_version(const void *one, const void *other)
{
    int64_t a = (*(struct known *const *)one)->version;
    int64_t b = (*(struct known *const *)other)->version;
    return (a > b) - (a < b);
}

static size_t collect(const struct prefix_watch *watch, const struct known_list *list,
                      struct known **ret)
{
    size_t count = 0;
    for (struct known *known = list->first; known; known = known->next)
        if (prefix_watch_has(watch, known->name) && concerns(watch, known->version, known->held))
            ret[count++] = known;
    return count;
}

/* A watch's first round looks at all that is news for it: the oldest first, to its limit. */
static void touch_news(struct prefix_watch *watch)
{
    struct known_table *table = &watch->prefixes->known;
    size_t most = table->held.count + table->free.count;
    struct known **news = malloc((most + 1) * sizeof(struct known *));
    if (!news)
        abort();
    size_t count = collect(watch, &table->held, news);
    count += collect(watch, &table->free, news + count);
    qsort(news, count, sizeof(struct known *), by_version);
    size_t told = 0;
    for (; told < count; told++) {
        bool is_tie = told > 0 && news[told]->version == news[told - 1]->version;
        if (told >= watch->limit && !is_tie)
            break;
        known_touch(table, news[told]);
    }
    if (told < count)
        watch->horizon = news[told]->version - 1;
    free(news);
}

static void enter_round(struct prefix_watch *watch)
{
    watch->in_round = watch->region->ready && (watch->begun || watch->scanned ||
                                               region_covers(watch->region, watch->after));
    if (!watch->in_round || watch->begun)
        return;
    struct prefixes *prefixes = watch->prefixes;
    int64_t oldest = prefixes->round.time - prefixes->locks->retention_ms * 1000;
    watch->complete =
        watch->asked == 0 || (watch->asked >= oldest && region_covers(watch->region, watch->after));
    touch_news(watch);
}

static int by_known_version(const void *one, const void *other)
{
    return by_version(&((const struct look *)one)->known, &((const struct look *)other)->known);
}

/* Redis has told all that was changed before the mark. */
void round_look(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    known_touch_ended(&prefixes->known, now_of(prefixes) + 1);
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = watch->next)
        enter_round(watch);

    round->phase = ROUND_LOOKING;
    round->count = round->next = round->looking = 0;
    round->looks = calloc(prefixes->known.touched_count + 1, sizeof *round->looks);
    if (!round->looks)
        abort();
    struct known *known;
    while ((known = known_take_touched(&prefixes->known))) {
        known->looking = true;
        round->looks[round->count++] = (struct look){.prefixes = prefixes, .known = known};
    }
    qsort(round->looks, round->count, sizeof *round->looks, by_known_version);
    look_on(prefixes);
}

void round_fail(struct prefixes *prefixes, const char *error)
{
    prefixes->round.error = error;
    prefixes->round.time = 0;
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = watch->next)
        watch->in_round = watch->begun || watch->region->ready;
    end_round(prefixes);
}

/* The keys that were changed together are told together, and one of them may come after the mark:
 * the loop is let go on first. */
static void on_mark(struct prefixes *prefixes)
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

static void marked(void *context, const struct store_result *result)
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
        round_fail(prefixes, unavailable_because(result));
        return;
    }
    if (round->time == 0 || time < round->time)
        round->time = time;
    on_mark(prefixes);
}

/* By a key beside the main key of a name that no lock has, or, where the part's own slots are to be
 * hit, one that has nothing else called so beside it. */
static void mark(struct prefixes *prefixes, unsigned part)
{
    struct locks *locks = prefixes->locks;
    struct marking *marking = malloc(sizeof *marking);
    char key[KEY_LENGTH], tag[STORE_TAG_SIZE], text[MARK_LENGTH];
    if (!marking)
        abort();
    marking->prefixes = prefixes;
    memcpy(marking->mark, prefixes->round.mark, sizeof marking->mark);
    snprintf(text, sizeof text, "%.*s.%u", MARK_LENGTH - NUMBER_TEXT, prefixes->round.mark, part);
    store_tag(locks->store, part, tag);
    prefixes->round.due += 2;
    const struct slice arguments[] = {stamp_room(), slice_of(text)};
    ask_redis(locks, &script_mark, operation_key(locks, slice_of(tag), key), arguments,
              sizeof arguments / sizeof arguments[0], marked, marking);
}

void round_begin(struct prefixes *prefixes)
{
    struct locks *locks = prefixes->locks;
    struct round *round = &prefixes->round;
    unsigned position = 0, part;
    prefixes->wanted = false;
    free(round->touched);
    *round = (struct round){.phase = ROUND_MARKING,
                            .overdue = now_of(prefixes) + MARK_LONGEST_MS,
                            .parts = store_part_count(locks->store)};
    snprintf(round->mark, sizeof round->mark, "%s:%" PRIu64, prefixes->mark_id, ++prefixes->marks);
    round->touched = calloc(round->parts + 1, sizeof *round->touched);
    if (!round->touched)
        abort();
    for (; store_seek_part(locks->store, &position, &part); position++)
        mark(prefixes, part);
}

/* …:mark:MARK.PART; -1 where it is no mark of this round. */
static int part_of_mark(const struct prefixes *prefixes, struct slice key)
{
    char end[MARK_LENGTH + sizeof ":mark:."], digits[16];
    size_t length = (size_t)snprintf(end, sizeof end, ":mark:%s.", prefixes->round.mark);
    const char *found = memmem(key.bytes, key.length, end, length);
    if (!found)
        return -1;
    const char *number = found + length;
    snprintf(digits, sizeof digits, "%.*s", (int)(key.bytes + key.length - number), number);
    unsigned long part = strtoul(digits, NULL, 10);
    return part < prefixes->round.parts ? (int)part : -1;
}

bool round_takes(struct prefixes *prefixes, struct slice key)
{
    struct round *round = &prefixes->round;
    int part = round->phase == ROUND_MARKING ? part_of_mark(prefixes, key) : -1;
    if (part < 0)
        return false;
    if (!round->touched[part]) {
        round->touched[part] = true;
        on_mark(prefixes);
    }
    return true;
}
