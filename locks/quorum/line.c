#include "locks/quorum/line.h"

#include "base/random.h"
#include "locks/quorum/majority.h"
#include "locks/scripts/scripts.h"

#include <search.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct slice *one = left, *other = right;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->bytes, other->bytes, one->length);
}

struct line *line_find(const struct locks *locks, struct slice key)
{
    void *const *found = tfind(&key, &locks->majority->lines, compare);
    return found ? *found : NULL;
}

/* When the next thing is due. */

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

static void on_timer(uv_timer_t *timer);

static void plan(struct line *line)
{
    uint64_t due = earlier(earlier(line->try_at, line->look_at), line->enlist_at);
    uint64_t now = uv_now(line->locks->loop);
    if (due == 0)
        uv_timer_stop(&line->timer);
    else
        uv_timer_start(&line->timer, on_timer, due > now ? due - now : 0, 0);
}

static void set_earlier(struct line *line, uint64_t *at, int64_t in_ms)
{
    if (in_ms < 0)
        return;
    *at = earlier(*at, uv_now(line->locks->loop) + (uint64_t)in_ms);
    plan(line);
}

void line_plan_try(struct line *line, int64_t in_ms)
{
    set_earlier(line, &line->try_at, in_ms);
}

void line_plan_look(struct line *line, int64_t in_ms)
{
    set_earlier(line, &line->look_at, in_ms);
}

/* So that several servers do not meet again and again. */
static int64_t jittered(int64_t ms)
{
    uint32_t random;
    random_bytes(&random, sizeof random);
    return ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

/* Enlisting */

struct enlisting {
    struct broadcast broadcast;
    struct line *line;
};

static void notice(struct line *line);

static void hear(struct broadcast *broadcast, unsigned member, const struct store_result *result)
{
    struct line *line = ((struct enlisting *)broadcast)->line;
    int64_t next_ms, version;
    if (result->outcome != STORE_REPLIED || !value_integer(value_at(result->reply, 0), &next_ms) ||
        !value_integer(value_at(value_at(result->reply, 1), 0), &version))
        return; /* it is enlisted when it is up again, or with the next time for all */
    if (line->first_looker && line->heard[member] > 0 && version > line->heard[member])
        line_plan_look(line, 0); /* the message of that was lost */
    if (version > line->heard[member])
        line->heard[member] = version;
    if (line->first_looker)
        line_plan_look(line, next_ms < 0 ? -1 : next_ms + 1);
}

static bool decide(struct broadcast *broadcast, bool is_last)
{
    struct line *line = ((struct enlisting *)broadcast)->line;
    if (!is_last)
        return false;
    line->is_enlisting = false;
    notice(line);
    return true;
}

static void end(struct broadcast *broadcast)
{
    struct line *line = ((struct enlisting *)broadcast)->line;
    free(broadcast);
    line_leave(line);
}

static void enlist(struct line *line)
{
    static const struct broadcast_kind KIND = {hear, decide, end};
    struct locks *locks = line->locks;
    const struct slice arguments[] = {stamp_room(), slice_of(locks->server),
                                      slice_of(locks->waiter_lease), slice_of("")};
    line->enlist_at = uv_now(locks->loop) + (uint64_t)locks->waiter_lease_ms / 2;
    plan(line);
    if (line->is_enlisting)
        return;
    struct enlisting *enlisting = calloc(1, sizeof *enlisting);
    if (!enlisting)
        abort();
    enlisting->line = line;
    line->users++;
    line->is_enlisting = true;
    broadcast_begin(&enlisting->broadcast, locks, &KIND);
    broadcast_send_all(&enlisting->broadcast, &script_watch, line->key, arguments,
                       sizeof arguments / sizeof arguments[0]);
}

void line_enlist(struct line *line)
{
    if (line->enlist_at == 0)
        enlist(line);
}

void line_check(struct line *line)
{
    if (line->enlist_at == 0)
        return;
    enlist(line);
    line_plan_try(line, 0);
    line_plan_look(line, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct line *line = timer->data;
    uint64_t now = uv_now(line->locks->loop);
    bool tries = line->try_at != 0 && line->try_at <= now;
    bool looks = line->look_at != 0 && line->look_at <= now;
    line->users++;
    if (tries)
        line->try_at = 0;
    if (looks)
        line->look_at = 0;
    if (line->enlist_at != 0 && line->enlist_at <= now)
        enlist(line);
    if (tries)
        places_go(line);
    if (looks)
        lookers_go(line);
    plan(line);
    line_leave(line);
}

/* What the members say */

/* After a split vote, those who lost wait for a while by chance, whatever is heard. */
static void notice(struct line *line)
{
    unsigned changed = 0;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        changed += line->refuses[i] && line->heard[i] > line->known[i];
    if (line->first && !line->is_split && line->missing > 0 && changed >= line->missing)
        line_plan_try(line, 0);
}

void line_refused(struct line *line, const struct tally *tally)
{
    int64_t free_in = tally_free_in(tally);
    for (unsigned i = 0; i < tally->members; i++) {
        line->refuses[i] = tally->votes[i].kind >= VOTE_LOCKED;
        line->known[i] = tally->votes[i].version;
    }
    line->missing = tally_missing(tally);
    line->is_split = tally_is_split(tally);
    line->pause_ms = !line->is_split       ? 0
                     : line->pause_ms == 0 ? LINE_PAUSE_LEAST_MS
                                           : line->pause_ms * 2;
    if (line->pause_ms > LINE_PAUSE_MOST_MS)
        line->pause_ms = LINE_PAUSE_MOST_MS;
    line->try_at = 0;
    line_plan_try(line, line->is_split ? jittered(line->pause_ms) : jittered(LINE_FALLBACK_MS));
    line_plan_try(line, free_in < 0 || line->is_split ? -1 : free_in + 1);
    notice(line);
}

void line_unanswered(struct line *line)
{
    memset(line->refuses, 0, sizeof line->refuses);
    line->try_at = 0;
    line_plan_try(line, jittered(LINE_AWAY_MS));
}

void line_taken(struct line *line, int64_t version, int64_t ttl_ms)
{
    for (unsigned i = 0; i < TALLY_MEMBERS; i++) {
        line->refuses[i] = true;
        line->known[i] = version;
    }
    line->missing = store_part_count(line->locks->store) / 2 + 1;
    line->is_split = false;
    line->pause_ms = 0;
    line->try_at = 0;
    line_plan_try(line, jittered(LINE_FALLBACK_MS));
    line_plan_try(line, ttl_ms + 1);
    notice(line);
}

void line_rest(struct line *line)
{
    line->missing = 0;
    line->try_at = 0;
    plan(line);
}

/* Messages: as in inbox.c, of which only these two are ever sent to who does not queue. */

static struct slice take_word(struct slice *rest)
{
    const char *space = rest->length > 0 ? memchr(rest->bytes, ' ', rest->length) : NULL;
    struct slice word = {rest->bytes, space ? (size_t)(space - rest->bytes) : rest->length};
    size_t taken = word.length + (space ? 1 : 0);
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return word;
}

static int64_t take_number(struct slice *rest)
{
    char text[NUMBER_TEXT];
    struct slice word = take_word(rest);
    if (word.length == 0 || word.length >= sizeof text)
        return -1;
    memcpy(text, word.bytes, word.length);
    text[word.length] = '\0';
    return strtoll(text, NULL, 10);
}

void majority_message(struct locks *locks, struct slice text)
{
    unsigned member = store_telling(locks->store);
    struct slice kind = take_word(&text);
    int64_t number = take_number(&text);
    struct line *line = line_find(locks, text);
    if (!line || number < 0)
        return;
    if (slice_equals(kind, "c")) { /* c VERSION KEY: the name has changed there */
        if (number > line->heard[member])
            line->heard[member] = number;
        notice(line);
        lookers_go(line);
    } else if (slice_equals(kind, "n") && number < INT32_MAX) { /* n MS KEY: a hold ends there */
        if (line->first)
            line_plan_try(line, number + 1);
        if (line->first_looker)
            line_plan_look(line, number + 1);
    }
}

/* Coming and going. */

static struct line *line_new(struct locks *locks, struct slice key)
{
    struct line *line = calloc(1, sizeof *line + key.length);
    if (!line)
        abort();
    memcpy(line->key_bytes, key.bytes, key.length);
    line->key = (struct slice){line->key_bytes, key.length};
    line->locks = locks;
    uv_timer_init(locks->loop, &line->timer);
    line->timer.data = line;
    line->next = locks->majority->first_line;
    if (line->next)
        line->next->previous = line;
    locks->majority->first_line = line;
    if (!tsearch(line, &locks->majority->lines, compare))
        abort();
    return line;
}

struct line *line_join(struct locks *locks, struct slice key)
{
    struct line *line = line_find(locks, key);
    if (!line)
        line = line_new(locks, key);
    line->users++;
    return line;
}

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void line_leave(struct line *line)
{
    struct majority *majority = line->locks->majority;
    if (--line->users > 0)
        return;
    tdelete(line, &majority->lines, compare);
    if (line->previous)
        line->previous->next = line->next;
    else
        majority->first_line = line->next;
    if (line->next)
        line->next->previous = line->previous;
    uv_close((uv_handle_t *)&line->timer, on_closed);
}
