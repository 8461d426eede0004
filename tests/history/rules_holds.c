#include "tests/history/rules.h"

#include <inttypes.h>

/* Whether both lived at one instant: their certain times overlap, or one was granted while the
 * other lived before and after. */
static bool met(const struct story *story, const struct hold *one, const struct hold *other)
{
    int64_t begin = one->begin > other->begin ? one->begin : other->begin;
    int64_t end = one->end < other->end ? one->end : other->end;
    if (begin < end)
        return true;
    if (one->grant != NO_EVENT && hold_spans(other, &story->events[one->grant]))
        return true;
    return other->grant != NO_EVENT && hold_spans(one, &story->events[other->grant]);
}

/* Whether `other` lived at the instant that `hold` was granted, or certainly lived already when it
 * certainly did. */
static bool was_there(const struct story *story, const struct hold *other, const struct hold *hold)
{
    if (hold->grant != NO_EVENT && hold_spans(other, &story->events[hold->grant]))
        return true;
    return hold->begin < hold->end && other->begin <= hold->begin && hold->begin < other->end;
}

/* `other` has the lesser fence, so it was granted first. */
static void check_with(const struct story *story, const struct hold *hold, const struct hold *other,
                       struct findings *findings)
{
    if (!met(story, hold, other))
        return;
    if (!goes_with(hold->reentrant, hold->owner, hold->shared, other->owner, other->shared))
        finding(findings, COMPATIBLE, "%s and %s", hold_text(other), hold_text(hold));
}

void check_compatible(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        int64_t until = hold->end > hold->begin ? hold->end : hold->begin;
        int shared = count_of(hold->permits);
        size_t first, last;
        story_window(story, hold->asked, until, &first, &last);
        for (size_t j = first; j < last; j++) {
            const struct hold *other = &story->holds[j];
            if (j == i)
                continue;
            if (j < i)
                check_with(story, hold, other, findings);
            if (j < i && other->shared && was_there(story, other, hold))
                shared += count_of(other->permits);
        }
        if (hold->shared && hold->limit > 0 && shared > hold->limit)
            finding(findings, WITHIN_LIMIT, "%d at once with %s", shared, hold_text(hold));
    }
}

/* When a reply has reported that the hold was released; INT64_MAX: never. */
static int64_t released_at(const struct story *story, const struct hold *hold)
{
    size_t first, last;
    story_token(story, hold->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        if (event->operation == RELEASE && event->outcome == DONE && event->fence == hold->fence)
            return event->received;
    }
    return INT64_MAX;
}

/* Whether somebody may have broken the lock from `from` to `to`. */
static bool may_be_broken(const struct story *story, int64_t from, int64_t to)
{
    size_t first, last;
    story_token(story, EVERYBODY, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        if (event->received >= from && event->sent <= to)
            return true;
    }
    return false;
}

/* From its release on, the name is not granted to another one until its at_least is over. */
static void check_taken_by(const struct story *story, const struct hold *hold, int64_t from,
                           int64_t to, struct findings *findings)
{
    size_t first, last;
    story_window(story, from, to, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct hold *other = &story->holds[i];
        const struct event *grant = other->grant == NO_EVENT ? NULL : &story->events[other->grant];
        if (grant && other->asked >= from && grant->received <= to &&
            !(hold->shared && other->shared) && !may_be_broken(story, hold->asked, grant->received))
            finding(findings, STAYS_TAKEN, "%s and %s", hold_text(hold), hold_text(other));
    }
}

void check_taken(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        int64_t from = hold->at_least > 0 ? released_at(story, hold) : INT64_MAX;
        int64_t to = hold->asked + hold->at_least - TOLERANCE_US;
        if (from < to && hold->asked >= 0)
            check_taken_by(story, hold, from, to, findings);
    }
}

/* Whether a request that was answered before `sent` had certainly ended the hold. */
static const struct event *ended_by(const struct story *story, const struct hold *hold, int token,
                                    int64_t sent)
{
    size_t first, last;
    story_token(story, token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *event = &story->events[story->by_token[i]];
        bool release = event->operation == RELEASE && event->fence == hold->fence;
        bool broken = event->operation == BREAK && event->version > hold->fence;
        if (event->outcome == DONE && (release || broken) && event->received <= sent)
            return event;
    }
    return NULL;
}

static void check_proof(const struct story *story, const struct hold *hold,
                        const struct event *proof, struct findings *findings)
{
    int64_t latest = story_latest_expiry(story, hold, proof->sent);
    const struct event *end = ended_by(story, hold, hold->token, proof->sent);
    if (!end)
        end = ended_by(story, hold, EVERYBODY, proof->sent);
    if (end)
        finding(findings, NO_REVIVAL, "%s after %s", event_text(proof), event_text(end));
    else if (latest >= 0 && proof->sent > latest)
        finding(findings, NO_REVIVAL, "%s, %" PRId64 " us after the latest end of its TTL",
                event_text(proof), proof->sent - latest);
}

void check_revival(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        for (size_t j = 1; j < hold->proof_count; j++)
            check_proof(story, hold, &story->events[story->proofs[hold->proof + j]], findings);
    }
}

/* Each hold has one token, owner and mode, and a request that it can come from. */
void check_origin(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        int grants = 0;
        if (hold->asked < 0)
            finding(findings, ASKED_FOR, "%s", hold_text(hold));
        for (size_t j = 0; j < hold->proof_count; j++) {
            const struct event *proof = &story->events[story->proofs[hold->proof + j]];
            grants += proof->operation == ACQUIRE && proof->outcome == DONE;
            if (proof->token != hold->token || proof->hold_owner != hold->owner ||
                proof->hold_shared != hold->shared || proof->hold_limit != hold->limit ||
                proof->hold_permits != hold->permits)
                finding(findings, FENCES_DIFFER, "%s and %s", hold_text(hold), event_text(proof));
        }
        if (grants > 1)
            finding(findings, FENCES_DIFFER, "%d grants of %s", grants, hold_text(hold));
    }
}

/* The first release of a hold that a reply tells of must have been sent before its certain end. */
void check_releases_in_time(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        const struct event *release = NULL, *end;
        size_t first, last;
        story_token(story, hold->token, &first, &last);
        for (size_t j = first; j < last && !release; j++) {
            const struct event *event = &story->events[story->by_token[j]];
            bool unsure = event->outcome == UNKNOWN && event->received >= hold->asked;
            bool sure = event->outcome == DONE && event->fence == hold->fence;
            if (event->operation == RELEASE && (sure || unsure))
                release = event;
        }
        if (!release || release->outcome == UNKNOWN)
            continue;
        end = ended_by(story, hold, EVERYBODY, release->sent);
        if (end)
            finding(findings, NO_REVIVAL, "%s after %s", event_text(release), event_text(end));
        else if (release->sent > hold->expired)
            finding(findings, NO_REVIVAL, "%s of %s, whose TTL had ended", event_text(release),
                    hold_text(hold));
    }
}
