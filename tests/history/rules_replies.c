#include "tests/history/rules.h"

#include <inttypes.h>

enum { REMEMBERED_US = 25000000, TOKENS_MOST = 4096 };

/* Whether the request asked for something else than the hold. */
static bool is_other_use(const struct event *event, const struct hold *hold)
{
    return event->owner != hold->owner || event->shared != hold->shared ||
           event->limit != hold->limit || count_of(event->permits) != count_of(hold->permits);
}

/* A request with a token whose hold certainly lived all the while must have found that hold. */
static void check_found(const struct event *event, const struct hold *hold,
                        struct findings *findings)
{
    bool found = event->outcome == DONE && event->fence == hold->fence;
    switch (event->operation) {
    case ACQUIRE:
        if (event->outcome == (is_other_use(event, hold) ? HOLDING : TOKEN_IN_USE))
            finding(findings, ONE_USE, "%s had %s", event_text(event), hold_text(hold));
        else if (event->outcome == TOKEN_IN_USE)
            break;
        else if (event->outcome == DONE)
            finding(findings, NO_SECOND_HOLD, "%s had %s", event_text(event), hold_text(hold));
        else if (event->outcome != HOLDING || event->fence != hold->fence)
            finding(findings, NO_LOSS, "%s had %s", event_text(event), hold_text(hold));
        break;
    case RENEW:
    case RELEASE:
        if (!found)
            finding(findings, NO_LOSS, "%s had %s", event_text(event), hold_text(hold));
        break;
    case INSPECT:
        if (event->not_mine)
            finding(findings, NO_LOSS, "%s had %s", event_text(event), hold_text(hold));
        break;
    case BREAK:
    case OPERATIONS:
        break;
    }
}

void check_own_replies(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        size_t first, last;
        story_token(story, hold->token, &first, &last);
        for (size_t j = first; j < last; j++) {
            const struct event *event = &story->events[story->by_token[j]];
            if (event->outcome != UNKNOWN && hold_spans(hold, event))
                check_found(event, hold, findings);
        }
    }
}

static bool add_token(int *tokens, size_t *count, int token)
{
    for (size_t i = 0; i < *count; i++)
        if (tokens[i] == token)
            return false;
    if (*count < TOKENS_MOST)
        tokens[(*count)++] = token;
    return true;
}

/* How many other holds this owner has while the event is under way: for certain, and at most. */
static void count_others(const struct story *story, const struct event *event, int owner,
                         int64_t *least, int64_t *most)
{
    int tokens[TOKENS_MOST] = {event->token};
    size_t first, last, count = 1;
    *least = 0;
    story_window(story, event->sent, event->received, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct hold *hold = &story->holds[i];
        if (hold->owner != owner || hold->token == event->token)
            continue;
        *least += hold_spans(hold, event);
        if (hold_may_meet(hold, event))
            add_token(tokens, &count, hold->token);
    }
    for (size_t i = 0; i < story->maybe_count; i++) {
        const struct maybe *maybe = &story->maybes[i];
        if (maybe->owner == owner && maybe->asked <= event->received && event->sent <= maybe->dead)
            add_token(tokens, &count, maybe->token);
    }
    *most = (int64_t)count - 1;
}

/* Whether no other request can have been the one that released: its reply reports the count then.
 */
static bool released_by(const struct story *story, const struct event *release)
{
    size_t first, last;
    story_token(story, release->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        if (event != release && event->operation == RELEASE && event->sent <= release->received &&
            (event->outcome == UNKNOWN ||
             (event->outcome == DONE && event->fence == release->fence)))
            return false;
    }
    return true;
}

void check_counts(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        bool has = event->operation == RENEW
                       ? event->outcome == DONE
                       : event->operation == ACQUIRE &&
                             (event->outcome == DONE || event->outcome == HOLDING);
        bool had = event->operation == RELEASE && event->outcome == DONE;
        const struct hold *hold = has || had ? story_hold(story, event->fence) : NULL;
        if (!hold || (had && !released_by(story, event)))
            continue;
        int64_t least, most;
        count_others(story, event, hold->owner, &least, &most);
        if (event->holds < least + has || event->holds > most + has)
            finding(findings, HOLDS_COUNTED, "%" PRId64 ", not %" PRId64 " to %" PRId64 ": %s",
                    event->holds, least + has, most + has, event_text(event));
    }
}

/* Whether a renewal that may have been in time for this event was sent after it. */
static bool renewed_meanwhile(const struct story *story, const struct event *event)
{
    size_t first, last;
    story_token(story, event->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *other = &story->events[story->by_token[i]];
        if (other->operation == RENEW && other->sent >= event->sent &&
            other->sent < event->received)
            return true;
    }
    return false;
}

/* A repeated acquire reports what remains, and neither adds to it nor begins it anew. */
static void check_left(const struct story *story, const struct event *event,
                       struct findings *findings)
{
    const struct hold *hold = story_hold(story, event->fence);
    if (!hold || renewed_meanwhile(story, event))
        return;
    int64_t latest = story_latest_expiry(story, hold, event->sent);
    if (event->sent <= latest && event->sent + event->left_ms * 1000 > latest)
        finding(findings, TTL_AS_ASKED, "%" PRId64 " ms are left, too much: %s", event->left_ms,
                event_text(event));
}

/* How old a grant may be when it is reported: one that was waited for may have been claimed a
 * second time, the first answer being lost. */
static int64_t reported_late(const struct story *story, const struct event *event)
{
    int64_t granted = event->granted > event->sent ? event->granted : event->sent;
    return event->wait_ms > 0 || story->terms->is_confirmed ? (event->received - granted) / 1000 + 1
                                                            : 0;
}

void check_ttls(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (event->operation != ACQUIRE && event->operation != RENEW)
            continue;
        int64_t most = event->at_least_ms > event->ttl_ms ? event->at_least_ms : event->ttl_ms;
        int64_t least = event->operation == ACQUIRE ? most : event->ttl_ms;
        if (event->outcome == DONE && event->ttl_ms > 0 &&
            (event->left_ms > most || event->left_ms < least - reported_late(story, event)))
            finding(findings, TTL_AS_ASKED, "%" PRId64 " ms instead of %" PRId64 ": %s",
                    event->left_ms, most, event_text(event));
        if (event->outcome == HOLDING)
            check_left(story, event, findings);
    }
}

static bool shows(const struct event *event, int64_t fence)
{
    for (size_t i = 0; i < event->shown_count; i++)
        if (event->shown[i].fence == fence && !event->shown[i].released)
            return true;
    return false;
}

/* Whether both may be there: the later one must have been granted beside the earlier one. A hold of
 * which nothing else is known may be reentrant. */
static bool go_together(const struct story *story, const struct shown *one,
                        const struct shown *other)
{
    const struct shown *later = one->fence > other->fence ? one : other;
    const struct shown *earlier = later == one ? other : one;
    const struct hold *hold = story_hold(story, later->fence);
    return goes_with(!hold || hold->reentrant, later->owner, later->shared, earlier->owner,
                     earlier->shared);
}

/* Those that were there at its grant, and are there still, were within its limit. */
static void check_limit_of_shown(const struct story *story, const struct event *event,
                                 const struct shown *shown, struct findings *findings)
{
    const struct hold *hold = story_hold(story, shown->fence);
    int shared = 0;
    for (size_t i = 0; i < event->shown_count; i++)
        if (event->shown[i].shared && event->shown[i].fence <= shown->fence)
            shared += count_of(event->shown[i].permits);
    if (hold && shown->shared && hold->limit > 0 && shared > hold->limit)
        finding(findings, WITHIN_LIMIT, "%s shows %d with %s", event_text(event), shared,
                hold_text(hold));
}

/* All that is shown is there at one instant, so all of it must go together. */
static void check_picture(const struct story *story, const struct event *event,
                          struct findings *findings)
{
    for (size_t i = 0; i < event->shown_count; i++) {
        const struct shown *one = &event->shown[i];
        check_limit_of_shown(story, event, one, findings);
        for (size_t j = 0; j < i; j++) {
            const struct shown *other = &event->shown[j];
            if (!go_together(story, one, other))
                finding(findings, COMPATIBLE, "%s shows %" PRId64 " and %" PRId64,
                        event_text(event), other->fence, one->fence);
            if (one->fence == other->fence)
                finding(findings, FENCES_DIFFER, "%s shows %" PRId64 " twice", event_text(event),
                        one->fence);
        }
    }
}

/* Whether the hold may live, or may be released and keep the name taken, as it is shown. */
static bool may_be_shown(const struct hold *hold, const struct shown *shown,
                         const struct event *event)
{
    bool may_be = shown->released ? hold->at_least > 0 && event->sent <= hold_taken_until(hold)
                                  : hold_may_meet(hold, event);
    return may_be && hold->owner == shown->owner && hold->shared == shown->shared;
}

/* What is shown may live, and what lives is shown. */
static void check_picture_of(const struct story *story, const struct event *event, bool complete,
                             struct findings *findings)
{
    for (size_t i = 0; i < event->shown_count; i++) {
        const struct shown *shown = &event->shown[i];
        const struct hold *hold = story_hold(story, shown->fence);
        if (hold && !may_be_shown(hold, shown, event))
            finding(findings, SHOWN_LIVES, "%s shows %s", event_text(event), hold_text(hold));
    }
    size_t first, last;
    story_window(story, event->sent, event->received, &first, &last);
    for (size_t i = first; complete && i < last; i++) {
        const struct hold *hold = &story->holds[i];
        if (hold_spans(hold, event) && !shows(event, hold->fence))
            finding(findings, SHOWN_LIVES, "%s does not show %s", event_text(event),
                    hold_text(hold));
    }
}

/* Whether one of the holds shown keeps this request from being granted. An owner does not re-enter
 * while a hold that was released keeps the name taken. */
static bool hindered(const struct event *event)
{
    bool reentrant = event->reentrant;
    int shared = 0;
    for (size_t i = 0; i < event->shown_count; i++)
        reentrant &= !event->shown[i].released;
    for (size_t i = 0; i < event->shown_count; i++) {
        const struct shown *shown = &event->shown[i];
        shared += shown->shared ? count_of(shown->permits) : 0;
        if (!goes_with(reentrant, event->owner, event->shared, shown->owner, shown->shared))
            return true;
    }
    return event->shared && event->limit > 0 && shared + count_of(event->permits) > event->limit;
}

void check_shown(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        bool refused = event->outcome == LOCKED || event->outcome == TIMED_OUT;
        if (!refused && (event->operation != INSPECT || event->outcome != DONE))
            continue;
        bool complete = event->shown_count < SHOWN_MOST;
        check_picture(story, event, findings);
        check_picture_of(story, event, complete, findings);
        bool forgotten = event->outcome == TIMED_OUT && story_is_disturbed(story, event);
        if (refused && complete && event->queue == 0 && !hindered(event) && !forgotten)
            finding(findings, REFUSED_WITH_CAUSE, "%s", event_text(event));
        if (!refused && (complete ? event->count != (int64_t)event->shown_count
                                  : event->count < (int64_t)event->shown_count))
            finding(findings, SHOWN_LIVES, "%s counts %" PRId64 " and shows %zu", event_text(event),
                    event->count, event->shown_count);
    }
}

/* A request of the same token after its release was reported. */
static void check_after(const struct event *release, const struct event *event,
                        struct findings *findings)
{
    if (event->outcome == UNKNOWN || event->sent < release->received ||
        event->received > release->sent + REMEMBERED_US)
        return;
    if (event->operation == ACQUIRE && event->outcome != NOT_HELD)
        finding(findings, STAYS_RELEASED, "%s after %s", event_text(event), event_text(release));
    if (event->operation == RELEASE &&
        (event->outcome != release->outcome || event->fence != release->fence))
        finding(findings, SAME_RELEASE, "%s after %s", event_text(event), event_text(release));
}

static void check_release(const struct story *story, const struct event *release,
                          struct findings *findings)
{
    const struct hold *hold = story_hold(story, release->fence);
    if (hold && hold->token != release->token)
        finding(findings, OWN_RELEASE, "%s ended %s", event_text(release), hold_text(hold));
    bool asked_for = hold && hold->token == release->token;
    size_t first, last;
    story_token(story, release->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        asked_for |= event->operation == ACQUIRE && event->outcome == UNKNOWN &&
                     event->sent < release->received;
        check_after(release, event, findings);
        if (event->operation == RELEASE && event->outcome == DONE &&
            event->fence == release->fence &&
            (event->held_ms != release->held_ms || event->holds != release->holds))
            finding(findings, SAME_RELEASE, "%s and %s", event_text(release), event_text(event));
    }
    if (!asked_for)
        finding(findings, ASKED_FOR, "%s", event_text(release));
}

/* A token that was cancelled stays so: it has no hold, and gets none. */
static void check_cancelled(const struct story *story, const struct event *cancel,
                            struct findings *findings)
{
    size_t first, last;
    story_token(story, cancel->token, &first, &last);
    for (size_t i = first; i < last; i++)
        check_after(cancel, &story->events[story->by_token[i]], findings);
}

/* Only a token that may have been released may be told so. */
static void check_refused(const struct story *story, const struct event *acquire,
                          struct findings *findings)
{
    size_t first, last;
    story_token(story, acquire->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool may_be =
            event->outcome == DONE || event->outcome == UNKNOWN || event->outcome == CANCELLED;
        if (event->operation == RELEASE && may_be && event->sent < acquire->received)
            return;
    }
    finding(findings, REFUSED_WITH_CAUSE, "%s", event_text(acquire));
}

void check_released(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (event->operation == RELEASE && event->outcome == DONE)
            check_release(story, event, findings);
        if (event->operation == RELEASE && event->outcome == CANCELLED)
            check_cancelled(story, event, findings);
        if (event->operation == ACQUIRE && event->outcome == NOT_HELD)
            check_refused(story, event, findings);
    }
}
