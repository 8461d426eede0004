#include "tests/history/story.h"

#include <stdlib.h>
#include <string.h>

enum { SETTERS_MOST = 512, TTL_HIGHEST_US = 10000000 };

/* What says when a hold will end: a proof of life tells what remains; a renewal without a reply may
 * have set it. */
struct setter {
    int64_t sent;
    int64_t received;
    int64_t least; /* microseconds that remain */
    int64_t most;
    bool sure;
};

static bool proves_life(const struct event *event)
{
    return (event->operation == ACQUIRE && event->outcome == HOLDING) ||
           ((event->operation == ACQUIRE || event->operation == RENEW) && event->outcome == DONE);
}

static void *make(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        abort();
    return memory;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_token(const void *a, const void *b, void *context)
{
    const struct event *events = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    int order = compare(events[i].token, events[j].token);
    return order ? order : compare((int64_t)i, (int64_t)j);
}

static int by_fence(const void *a, const void *b, void *context)
{
    const struct event *events = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    int order = compare(events[i].fence, events[j].fence);
    return order ? order : compare((int64_t)i, (int64_t)j);
}

void story_token(const struct story *story, int token, size_t *first, size_t *last)
{
    size_t low = 0, high = story->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (story->events[story->by_token[middle]].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low < story->count && story->events[story->by_token[low]].token == token)
        low++;
    *last = low;
}

/* How long a hold lasts that gets its TTL by this event, at most. */
static int64_t most_ms(const struct event *event)
{
    return event->at_least_ms > event->ttl_ms ? event->at_least_ms : event->ttl_ms;
}

/* Collects the setters that were sent before `sent`, in that order. */
static size_t collect(const struct story *story, const struct hold *hold, int64_t sent,
                      struct setter *setters)
{
    size_t first, last, count = 0;
    story_token(story, hold->token, &first, &last);
    for (size_t i = first; i < last && count < SETTERS_MOST; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool sure = proves_life(event) && event->fence == hold->fence;
        bool unsure = event->operation == RENEW && event->outcome == UNKNOWN &&
                      event->received >= hold->asked;
        if (event->sent >= sent || (!sure && !unsure))
            continue;
        struct setter *setter = &setters[count++];
        *setter = (struct setter){event->sent, event->received, event->left_ms * 1000,
                                  event->left_ms * 1000 + 1000, sure};
        if (unsure) {
            setter->least = event->ttl_ms * 1000;
            setter->most = event->ttl_ms > 0 ? most_ms(event) * 1000 : TTL_HIGHEST_US;
        }
    }
    return count;
}

/* Whether what `one` said of the end was out of date at `time`, since a later one had happened. */
static bool superseded(const struct setter *setters, size_t count, const struct setter *one,
                       int64_t time)
{
    for (size_t i = 0; i < count; i++)
        if (setters[i].sure && setters[i].sent >= one->received && setters[i].received <= time)
            return true;
    return false;
}

static int64_t earliest_expiry(const struct setter *setters, size_t count)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t end = setters[i].sent + setters[i].least - TOLERANCE_US;
        if (end < earliest && !superseded(setters, count, &setters[i], INT64_MAX))
            earliest = end;
    }
    return earliest;
}

int64_t story_latest_expiry(const struct story *story, const struct hold *hold, int64_t sent)
{
    struct setter setters[SETTERS_MOST];
    size_t count = collect(story, hold, sent, setters);
    int64_t latest = -1;
    bool sure = false;
    for (size_t i = 0; i < count; i++) {
        int64_t end = setters[i].received + setters[i].most + TOLERANCE_US;
        sure |= setters[i].sure;
        if (end > latest && !superseded(setters, count, &setters[i], sent))
            latest = end;
    }
    return sure ? latest : -1;
}

/* Whether this request may have ended the hold; *sure: it had ended when the reply came. */
static bool may_end(const struct hold *hold, const struct event *event, bool *sure)
{
    *sure = false;
    if (event->operation != BREAK && event->operation != RELEASE)
        return false;
    if (event->outcome == UNKNOWN)
        return event->received >= hold->asked;
    if (event->outcome != DONE)
        return false;
    if (event->operation == RELEASE)
        return *sure = event->fence == hold->fence;
    *sure = event->version > hold->fence;
    return *sure && event->count > 0;
}

/* Brings the end forward to what requests with this token may have done after `proved`. */
static void date_end(const struct story *story, struct hold *hold, int token, int64_t proved)
{
    size_t first, last;
    story_token(story, token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool sure;
        if (may_end(hold, event, &sure) && event->received >= proved && event->sent < hold->end)
            hold->end = event->sent;
        if (sure && event->received < hold->dead)
            hold->dead = event->received;
    }
}

/* When the hold lived: from the first proof's arrival, and at least until the last one was sent;
 * after that until its TTL may have ended or somebody may have ended it. */
static void date(const struct story *story, struct hold *hold)
{
    struct setter setters[SETTERS_MOST];
    size_t count = collect(story, hold, INT64_MAX, setters);
    int64_t proved = 0;
    hold->begin = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!setters[i].sure)
            continue;
        if (setters[i].received < hold->begin)
            hold->begin = setters[i].received;
        if (setters[i].sent > proved)
            proved = setters[i].sent;
    }
    hold->end = earliest_expiry(setters, count);
    hold->expired = story_latest_expiry(story, hold, INT64_MAX);
    hold->dead = hold->expired;
    date_end(story, hold, hold->token, proved);
    date_end(story, hold, EVERYBODY, proved);
    if (hold->end < proved)
        hold->end = proved;
}

/* When the request was sent that the hold was granted to: the one that was told so, or an earlier
 * one of its token that waited, was granted the lock and did not get to know. */
static int64_t first_asked(const struct story *story, const struct hold *hold)
{
    const struct event *grant = &story->events[hold->grant];
    size_t first, last;
    story_token(story, hold->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool kept = event->outcome == TIMED_OUT && event->keep_ms > 0;
        if (event < grant && event->operation == ACQUIRE && event->wait_ms > 0 &&
            (event->outcome == UNKNOWN || kept))
            return event->sent;
    }
    return grant->sent;
}

/* The earliest request that can have made the hold. */
static void find_origin(const struct story *story, struct hold *hold)
{
    size_t first, last;
    hold->grant = NO_EVENT;
    for (size_t i = 0; i < hold->proof_count && hold->grant == NO_EVENT; i++) {
        const struct event *proof = &story->events[story->proofs[hold->proof + i]];
        if (proof->operation == ACQUIRE && proof->outcome == DONE) {
            hold->grant = story->proofs[hold->proof + i];
            hold->asked = proof->sent;
        }
    }
    if (hold->grant != NO_EVENT) {
        hold->asked = first_asked(story, hold);
        return;
    }
    hold->asked = -1;
    const struct event *proof = &story->events[story->proofs[hold->proof]];
    story_token(story, hold->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool maybe =
            event->outcome == UNKNOWN || (event->outcome == TIMED_OUT && event->keep_ms > 0);
        if (event->operation == ACQUIRE && maybe && event->sent < proof->received) {
            hold->asked = event->sent;
            return;
        }
    }
}

static void build_holds(struct story *story)
{
    size_t count = 0;
    for (size_t i = 0; i < story->count; i++)
        if (proves_life(&story->events[i]))
            story->proofs[count++] = i;
    qsort_r(story->proofs, count, sizeof *story->proofs, by_fence, (void *)story->events);
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &story->events[story->proofs[i]];
        if (i > 0 && story->events[story->proofs[i - 1]].fence == event->fence) {
            story->holds[story->hold_count - 1].proof_count++;
            continue;
        }
        story->holds[story->hold_count++] = (struct hold){.fence = event->fence,
                                                          .token = event->token,
                                                          .owner = event->hold_owner,
                                                          .reentrant = event->reentrant,
                                                          .shared = event->hold_shared,
                                                          .limit = event->hold_limit,
                                                          .permits = event->hold_permits,
                                                          .at_least = event->at_least_ms * 1000,
                                                          .proof = i,
                                                          .proof_count = 1};
    }
}

/* The next request for the lock with the event's token; NULL where there is none. */
static const struct event *next_acquire(const struct story *story, const struct event *event)
{
    size_t first, last;
    story_token(story, event->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *other = &story->events[story->by_token[i]];
        if (other > event && other->operation == ACQUIRE)
            return other;
    }
    return NULL;
}

/* The latest end of a hold of which no reply tells, after a request that waited: nobody has claimed
 * it, and it has ended with the claim window; or its token came again, and was told of it. */
static int64_t unclaimed_until(const struct story *story, const struct event *event)
{
    const struct terms *terms = story->terms;
    const struct event *next = next_acquire(story, event);
    int64_t dead = event->received + event->keep_ms * 1000 + terms->claim_us + terms->slack_us;
    if (event->outcome == UNKNOWN && !event->hung_up)
        dead += most_ms(event) * 1000; /* claimed, and the reply was lost */
    if (!next)
        return dead;
    int64_t claimed = next->sent + terms->settle_us + terms->claim_us;
    return claimed < dead ? claimed : dead;
}

/* After a request that did not wait: it may have happened until it was last heard of. */
static int64_t unanswered_until(const struct story *story, const struct event *event)
{
    int64_t dead = 0;
    size_t first, last;
    story_token(story, event->token, &first, &last);
    for (size_t j = first; j < last; j++) {
        const struct event *other = &story->events[story->by_token[j]];
        int64_t ttl = other->ttl_ms > 0 ? most_ms(other) * 1000 : TTL_HIGHEST_US;
        if ((other->operation == ACQUIRE || other->operation == RENEW) &&
            other->outcome == UNKNOWN && other->received + ttl + TOLERANCE_US > dead)
            dead = other->received + ttl + TOLERANCE_US;
    }
    return dead;
}

/* For each acquire that may have been granted without a reply that says so: how long its token may
 * have had a hold. */
static void build_maybes(struct story *story)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        bool kept = event->outcome == TIMED_OUT && event->keep_ms > 0;
        if (event->operation != ACQUIRE || (event->outcome != UNKNOWN && !kept))
            continue;
        int64_t asked = kept ? event->sent + event->wait_ms * 1000 : event->sent;
        int64_t dead =
            event->wait_ms > 0 ? unclaimed_until(story, event) : unanswered_until(story, event);
        story->maybes[story->maybe_count++] =
            (struct maybe){event->token, event->owner, asked - TOLERANCE_US, dead};
    }
}

void story_build(struct story *story, const struct terms *terms, const struct event *events,
                 size_t count)
{
    *story = (struct story){.terms = terms, .events = events, .count = count};
    story->by_token = make(count, sizeof *story->by_token);
    story->proofs = make(count, sizeof *story->proofs);
    story->holds = make(count, sizeof *story->holds);
    story->maybes = make(count, sizeof *story->maybes);
    for (size_t i = 0; i < count; i++)
        story->by_token[i] = i;
    qsort_r(story->by_token, count, sizeof *story->by_token, by_token, (void *)events);
    build_holds(story);
    build_maybes(story);

    story->dead_before = make(story->hold_count, sizeof *story->dead_before);
    story->asked_after = make(story->hold_count, sizeof *story->asked_after);
    int64_t dead = 0, asked = INT64_MAX;
    for (size_t i = 0; i < story->hold_count; i++) {
        find_origin(story, &story->holds[i]);
        date(story, &story->holds[i]);
        dead = story->holds[i].dead > dead ? story->holds[i].dead : dead;
        dead = story->holds[i].end > dead ? story->holds[i].end : dead;
        story->dead_before[i] = dead;
    }
    for (size_t i = story->hold_count; i-- > 0;) {
        asked = story->holds[i].asked < asked ? story->holds[i].asked : asked;
        story->asked_after[i] = asked;
    }
}

void story_free(struct story *story)
{
    free(story->by_token);
    free(story->proofs);
    free(story->holds);
    free(story->dead_before);
    free(story->asked_after);
    free(story->maybes);
}

const struct hold *story_hold(const struct story *story, int64_t fence)
{
    size_t low = 0, high = story->hold_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (story->holds[middle].fence < fence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < story->hold_count && story->holds[low].fence == fence ? &story->holds[low] : NULL;
}

/* The first index whose number is greater than `than` (or equal, if `equal`), in rising numbers. */
static size_t first_above(const int64_t *numbers, size_t count, int64_t than, bool equal)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle] > than || (equal && numbers[middle] == than))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void story_window(const struct story *story, int64_t from, int64_t to, size_t *first, size_t *last)
{
    *first = first_above(story->dead_before, story->hold_count, from, true);
    *last = first_above(story->asked_after, story->hold_count, to, false);
}

bool hold_spans(const struct hold *hold, const struct event *event)
{
    return hold->begin <= event->sent && event->received < hold->end;
}

bool hold_may_meet(const struct hold *hold, const struct event *event)
{
    return hold->asked <= event->received && event->sent <= hold->dead;
}

int64_t hold_taken_until(const struct hold *hold)
{
    int64_t until = hold->begin + hold->at_least + TOLERANCE_US;
    return hold->at_least > 0 && until > hold->dead ? until : hold->dead;
}

bool story_is_disturbed(const struct story *story, const struct event *event)
{
    for (size_t i = 0; i < story->terms->disturbance_count; i++) {
        const struct disturbance *one = &story->terms->disturbances[i];
        if (one->from <= event->received && event->sent <= one->to)
            return true;
    }
    return false;
}
