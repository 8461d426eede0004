/* Watching all names under a prefix. Redis tells which keys change, without their content and in no
 * order with what else it says; so watches are served in rounds:
 *
 * 1. A mark: a script changes a key of ours and returns the time. When Redis has told of that key,
 *    it has told of all that was changed before that time.
 * 2. Each name that was touched by then, or of which a hold may have ended, is looked at once, for
 *    all watches. What is newer than a watch asked for is told.
 * 3. A watch that was told something is answered, with the time of the mark: asked again from there
 *    on, it misses nothing.
 *
 * While nobody watches, nothing of this is there, but for some seconds: whoever was answered asks
 * again, and then nothing has to be scanned anew. */
#include "locks/prefix.h"

#include "base/random.h"
#include "locks/region.h"
#include "locks/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOGETHER_MS = 2, /* changes so close to each other are looked at together */
    AGAIN_MS = 200,  /* after a round that failed */
    MARK_LONGEST_MS = 1000,
    LINGER_MS = 10000,
    LOOKS_AT_ONCE = 256, /* so that Redis answers well before its deadline */
    UNSEEN_MOST = 4096,  /* touched while nobody watches */
    MARK_ID_LENGTH = 16,
    MARK_LENGTH = MARK_ID_LENGTH + 1 + NUMBER_TEXT,
};

enum phase { RESTING, MARKING, MARKED, LOOKING };

/* One name that Redis is asked about. */
struct look {
    struct prefixes *prefixes;
    struct known *known;
    uint64_t sent;
};

struct round {
    enum phase phase;
    char mark[MARK_LENGTH];
    uint64_t overdue;
    bool replied; /* the mark's script has; */
    bool touched; /* Redis has told that its key has changed */
    int64_t time; /* of the mark; us */
    struct look *looks;
    size_t count;
    size_t next;    /* to be sent */
    size_t looking; /* sent and not answered */
    const char *error;
};

struct prefixes {
    struct locks *locks;
    uv_timer_t timer;
    struct known_table known;
    struct region *regions;
    struct prefix_watch *watches;
    size_t watch_count;
    bool tracking;
    bool wanted; /* a watch waits for a round, whether anything was touched or not */
    uint64_t not_before;
    uint64_t marks;
    char mark_id[MARK_ID_LENGTH + 1];
    struct round round;
};

struct prefix_watch {
    struct prefix_watch *next;
    struct prefix_watch **place; /* what points to this one */
    struct prefixes *prefixes;
    struct region *region;
    struct prefix_listener listener;
    uv_timer_t timer; /* the end of the wait */
    int64_t after;    /* 0: all that is held is to be told */
    int64_t asked;    /* what it was at first */
    size_t limit;
    size_t told;
    int64_t last_told; /* a version */
    int64_t horizon;   /* no version up to this one was left out for the limit */
    bool begun;        /* its first round is over: from now on it waits for changes */
    bool scanned;      /* the region was scanned for it */
    bool complete;
    bool over; /* the wait has ended */
    bool in_round;
    size_t prefix_length;
    char prefix[];
};

static uint64_t now_of(const struct prefixes *prefixes)
{
    return uv_now(prefixes->locks->loop);
}

static bool watch_has(const struct prefix_watch *watch, struct slice name)
{
    return name.length >= watch->prefix_length &&
           memcmp(name.bytes, watch->prefix, watch->prefix_length) == 0;
}

static void plan(struct prefixes *prefixes);

/* The end of a watch. */

static void unlink_watch(struct prefix_watch *watch)
{
    *watch->place = watch->next;
    if (watch->next)
        watch->next->place = watch->place;
}

static void link_watch(struct prefix_watch *watch, struct prefix_watch **list)
{
    watch->next = *list;
    watch->place = list;
    if (watch->next)
        watch->next->place = &watch->next;
    *list = watch;
}

static void on_watch_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void locks_unwatch_prefix(struct prefix_watch *watch)
{
    struct prefixes *prefixes = watch->prefixes;
    unlink_watch(watch);
    prefixes->watch_count--;
    if (--watch->region->watches == 0)
        watch->region->idle = now_of(prefixes);
    uv_close((uv_handle_t *)&watch->timer, on_watch_closed);
    plan(prefixes);
}

/* What is left out for the limit is told next time; where it cannot be known what was left out, all
 * that is held is to be asked for anyway. */
static void answer(struct prefix_watch *watch, int64_t time)
{
    struct prefix_listener listener = watch->listener;
    bool complete = watch->complete;
    int64_t version = complete && watch->horizon < time ? watch->horizon : time;
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_DONE, version, complete, NULL);
}

static void give_up(struct prefix_watch *watch, const char *error)
{
    struct prefix_listener listener = watch->listener;
    locks_unwatch_prefix(watch);
    listener.done(listener.context, LOCKS_UNAVAILABLE, 0, false, error);
}

/* Regions and the table. */

static void sleep_at_last(struct prefixes *prefixes)
{
    while (prefixes->regions)
        region_close(prefixes->regions);
    known_forget_all(&prefixes->known);
    if (prefixes->tracking)
        store_untrack(prefixes->locks->store);
    prefixes->tracking = false;
    prefixes->wanted = false;
}

static bool any_region_has(const struct prefixes *prefixes, struct slice name)
{
    for (const struct region *region = prefixes->regions; region; region = region->next)
        if (region_has(region, name))
            return true;
    return false;
}

static void forget_strangers(struct prefixes *prefixes, struct known_list *list)
{
    struct known *next;
    for (struct known *known = list->first; known; known = next) {
        next = known->next;
        if (!known->touched && !any_region_has(prefixes, known->name))
            known_forget(&prefixes->known, known);
    }
}

/* Closes regions that nobody has watched for a while. */
static void prune(struct prefixes *prefixes)
{
    bool closed = false;
    struct region *next;
    for (struct region *region = prefixes->regions; region; region = next) {
        next = region->next;
        if (region->watches == 0 && now_of(prefixes) >= region->idle + LINGER_MS) {
            region_close(region);
            closed = true;
        }
    }
    if (!prefixes->regions) {
        sleep_at_last(prefixes);
    } else if (closed) {
        forget_strangers(prefixes, &prefixes->known.held);
        forget_strangers(prefixes, &prefixes->known.free);
    }
}

/* Has the region scanned for the watch, unless that was done or is not necessary. */
static void prepare(struct prefix_watch *watch)
{
    if (region_covers(watch->region, watch->after) || (watch->region->ready && watch->scanned))
        watch->prefixes->wanted = true;
    else if (!watch->region->scanning)
        region_scan(watch->region, watch->after);
}

static void on_scanned(void *context, struct region *region, const char *error)
{
    struct prefixes *prefixes = context;
    struct prefix_watch *next;
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = next) {
        next = watch->next;
        if (watch->region != region || watch->begun)
            continue;
        if (error) {
            give_up(watch, error);
        } else {
            if (watch->after == 0 || region->scan_since <= watch->after)
                watch->scanned = true;
            prepare(watch);
        }
    }
    regions_forget_oldest(prefixes->regions, &prefixes->known);
    plan(prefixes);
}

/* Telling. */

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
        if (watch->in_round && watch_has(watch, known->name) &&
            concerns(watch, known->version, known->held))
            tell(watch, known->name, view);
    }
}

/* A round, from its end to its beginning. */

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
            unlink_watch(watch);
            link_watch(watch, &due);
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
            give_up(due, error);
        else
            answer(due, time);
    }
}

static void end_round(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    free(round->looks);
    round->looks = NULL;
    round->phase = RESTING;
    prefixes->not_before = now_of(prefixes) + (round->error ? AGAIN_MS : TOGETHER_MS);
    regions_forget_oldest(prefixes->regions, &prefixes->known);
    answer_watches(prefixes);
    plan(prefixes);
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
        if (watch_has(watch, known->name) && concerns(watch, known->version, known->held))
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
static void look(struct prefixes *prefixes)
{
    struct round *round = &prefixes->round;
    known_touch_ended(&prefixes->known, now_of(prefixes) + 1);
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = watch->next)
        enter_round(watch);

    round->phase = LOOKING;
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

static void fail_round(struct prefixes *prefixes, const char *error)
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
    if (!prefixes->round.replied || !prefixes->round.touched)
        return;
    prefixes->round.phase = MARKED;
    plan(prefixes);
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
    bool is_current = round->phase == MARKING && strcmp(round->mark, marking->mark) == 0;
    free(marking);
    if (!is_current)
        return;
    round->replied = result->outcome == STORE_REPLIED && value_integer(result->reply, &round->time);
    if (round->replied)
        on_mark(prefixes);
    else
        fail_round(prefixes, unavailable_because(result));
}

static void begin_round(struct prefixes *prefixes)
{
    struct locks *locks = prefixes->locks;
    struct round *round = &prefixes->round;
    struct marking *marking = malloc(sizeof *marking);
    if (!marking)
        abort();
    prefixes->wanted = false;
    *round = (struct round){.phase = MARKING, .overdue = now_of(prefixes) + MARK_LONGEST_MS};
    snprintf(round->mark, sizeof round->mark, "%s:%" PRIu64, prefixes->mark_id, ++prefixes->marks);
    marking->prefixes = prefixes;
    memcpy(marking->mark, round->mark, sizeof round->mark);
    char key[KEY_LENGTH];
    const struct slice arguments[] = {slice_of(locks->retention), slice_of(round->mark)};
    store_eval(locks->store, &script_mark, operation_key(locks, (struct slice){"", 0}, key),
               arguments, sizeof arguments / sizeof arguments[0], marked, marking);
}

/* When there is something to do. */

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t next_time(const struct prefixes *prefixes)
{
    const struct round *round = &prefixes->round;
    uint64_t at = UINT64_MAX;
    if (round->phase == MARKED)
        at = 0;
    else if (round->phase == MARKING)
        at = round->overdue;
    else if (round->phase == RESTING && prefixes->watch_count > 0) {
        bool now = prefixes->wanted || prefixes->known.touched_count > 0;
        uint64_t end = known_next_end(&prefixes->known);
        at = now ? 0 : end < UINT64_MAX ? end + 1 : UINT64_MAX;
        at = at > prefixes->not_before ? at : prefixes->not_before;
    }
    for (const struct region *region = prefixes->regions; region; region = region->next)
        if (region->watches == 0)
            at = least(at, region->idle + LINGER_MS);
    return at;
}

static void on_timer(uv_timer_t *timer)
{
    struct prefixes *prefixes = timer->data;
    const struct round *round = &prefixes->round;
    prune(prefixes);
    if (round->phase == MARKED)
        look(prefixes);
    else if (round->phase == MARKING && now_of(prefixes) >= round->overdue)
        fail_round(prefixes, "Redis does not tell of changes (batond's log says why)");
    else if (round->phase == RESTING && prefixes->watch_count > 0 &&
             now_of(prefixes) >= prefixes->not_before)
        begin_round(prefixes);
    plan(prefixes);
}

static void plan(struct prefixes *prefixes)
{
    uint64_t at = next_time(prefixes), now = now_of(prefixes);
    if (at == UINT64_MAX)
        uv_timer_stop(&prefixes->timer);
    else
        uv_timer_start(&prefixes->timer, on_timer, at > now ? at - now : 0, 0);
}

/* What Redis tells. */

static bool is_mark(const struct prefixes *prefixes, struct slice key)
{
    char mark[KEY_LENGTH + MARK_LENGTH + sizeof ":mark:"];
    struct slice empty = {"", 0};
    size_t length = operation_key(prefixes->locks, empty, mark).length;
    length += (size_t)sprintf(mark + length, ":mark:%s", prefixes->round.mark);
    return key.length == length && memcmp(key.bytes, mark, length) == 0;
}

/* Something may have been missed: all that is held is looked at, and all else scanned anew. Each
 * watch begins again, with what it waits for. */
static void doubt(struct prefixes *prefixes)
{
    for (struct region *region = prefixes->regions; region; region = region->next)
        region->since = INT64_MAX;
    for (struct prefix_watch *watch = prefixes->watches; watch; watch = watch->next) {
        watch->begun = watch->scanned = watch->in_round = false;
        if (watch->after < watch->region->since)
            watch->region->since = watch->after;
    }
    for (struct region *region = prefixes->regions; region; region = region->next) {
        if (region->watches > 0)
            region_doubt(region, region->since);
        else
            region->idle = 0; /* it is closed at once */
    }
    for (struct known *known = prefixes->known.held.first; known; known = known->next)
        known_touch(&prefixes->known, known);
    if (prefixes->round.phase == MARKING)
        prefixes->round.phase = RESTING;
}

static void touch(struct prefixes *prefixes, struct slice key)
{
    struct slice prefix = {prefixes->locks->key_prefix, prefixes->locks->key_prefix_length};
    char bytes[NAME_LENGTH];
    struct slice name = {bytes, name_from_key(prefix, key, bytes)};
    if (name.length > 0 && any_region_has(prefixes, name))
        known_touch(&prefixes->known, known_get(&prefixes->known, name));
    if (prefixes->watch_count == 0 && prefixes->known.touched_count > UNSEEN_MOST)
        sleep_at_last(prefixes);
}

void locks_store_touched(struct locks *locks, struct slice key)
{
    struct prefixes *prefixes = locks->prefixes;
    if (!prefixes || !prefixes->tracking)
        return;
    if (key.length == 0) {
        doubt(prefixes);
    } else if (prefixes->round.phase == MARKING && is_mark(prefixes, key)) {
        prefixes->round.touched = true;
        on_mark(prefixes);
    } else {
        touch(prefixes, key);
    }
    if (prefixes->round.phase == RESTING)
        plan(prefixes);
}

/* The beginning of a watch, and the end of all. */

static struct prefixes *prefixes_of(struct locks *locks)
{
    if (locks->prefixes)
        return locks->prefixes;
    struct prefixes *prefixes = calloc(1, sizeof *prefixes);
    uint64_t id;
    if (!prefixes)
        abort();
    prefixes->locks = locks;
    random_bytes(&id, sizeof id);
    snprintf(prefixes->mark_id, sizeof prefixes->mark_id, "%016" PRIx64, id);
    uv_timer_init(locks->loop, &prefixes->timer);
    prefixes->timer.data = prefixes;
    locks->prefixes = prefixes;
    return prefixes;
}

static void track(struct prefixes *prefixes)
{
    char prefix[KEY_PREFIX_LENGTH + 1];
    size_t length = prefixes->locks->key_prefix_length;
    memcpy(prefix, prefixes->locks->key_prefix, length);
    prefix[length++] = '{';
    prefixes->tracking = true;
    store_track(prefixes->locks->store, (struct slice){prefix, length});
}

static struct region *find_region(struct prefixes *prefixes, struct slice prefix)
{
    for (struct region *region = prefixes->regions; region; region = region->next)
        if (region_has(region, prefix))
            return region;
    return region_open(&prefixes->regions, prefixes->locks, &prefixes->known, prefix, on_scanned,
                       prefixes);
}

static void on_over(uv_timer_t *timer)
{
    struct prefix_watch *watch = timer->data;
    watch->over = true;
    watch->prefixes->wanted = true;
    plan(watch->prefixes);
}

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix, int64_t after,
                                        int64_t wait_ms, size_t limit,
                                        const struct prefix_listener *listener)
{
    struct prefixes *prefixes = prefixes_of(locks);
    struct prefix_watch *watch = calloc(1, sizeof *watch + prefix.length);
    if (!watch)
        abort();
    if (!prefixes->tracking)
        track(prefixes); /* on the same connection as the scan, and before it */
    watch->prefixes = prefixes;
    watch->region = find_region(prefixes, prefix);
    watch->region->watches++;
    watch->listener = *listener;
    watch->after = watch->asked = after;
    watch->limit = limit;
    watch->horizon = INT64_MAX;
    watch->complete = true;
    watch->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(watch->prefix, prefix.bytes, prefix.length);
    uv_timer_init(locks->loop, &watch->timer);
    watch->timer.data = watch;
    link_watch(watch, &prefixes->watches);
    prefixes->watch_count++;
    watch->over = wait_ms == 0 || locks->draining;
    if (!watch->over)
        uv_timer_start(&watch->timer, on_over, (uint64_t)wait_ms, 0);
    prepare(watch);
    plan(prefixes);
    return watch;
}

void prefixes_drain(struct locks *locks)
{
    if (!locks->prefixes)
        return;
    for (struct prefix_watch *watch = locks->prefixes->watches; watch; watch = watch->next) {
        uv_timer_stop(&watch->timer);
        watch->over = true;
    }
    locks->prefixes->wanted = true;
    plan(locks->prefixes);
}

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void prefixes_close(struct prefixes *prefixes)
{
    if (!prefixes)
        return;
    prefixes->tracking = false; /* the store is closed by now */
    sleep_at_last(prefixes);
    uv_close((uv_handle_t *)&prefixes->timer, on_closed);
}
