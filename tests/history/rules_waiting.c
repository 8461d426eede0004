#include "tests/history/rules.h"

#include <inttypes.h>
#include <stdlib.h>

enum { EARLY_US = 5000 }; /* a server's timer may count from a little before the request came */

/* A time for which a token certainly waited in the queue, in good standing, its request parked. */
struct presence {
    const struct event *event;
    int64_t arrived; /* it has had its place since then, at the latest */
    int64_t from;
    int64_t to;
};

static bool waits(const struct event *event)
{
    if (event->operation != ACQUIRE || event->wait_ms == 0)
        return false;
    return event->outcome == DONE || event->outcome == HOLDING || event->outcome == TIMED_OUT ||
           event->outcome == UNKNOWN || event->outcome == NOT_HELD;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When it was known to have a place that it has kept until this event; 0: nobody knows. */
static int64_t kept_since(const struct story *story, const struct event *event)
{
    int64_t since = 0;
    const struct event *before = NULL;
    size_t first, last;
    story_token(story, event->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *one = &story->events[story->by_token[i]];
        if (one->operation != ACQUIRE || one > event)
            continue;
        int64_t left = before ? before->sent + (before->wait_ms + before->keep_ms) * 1000 : 0;
        bool is_given_up = before && before->outcome == UNKNOWN && before->keep_ms == 0;
        if (is_given_up || one->sent + story->terms->settle_us >= left)
            since = 0;
        if (since == 0 && one->queued)
            since = one->queued;
        if (one == event)
            return since;
        if (since == 0 && one->outcome == TIMED_OUT && one->keep_ms > 0)
            since = one->received;
        before = one;
    }
    return since;
}

/* Cuts what is certain down to what other requests of the token, and disturbances, leave of it. */
static void cut(const struct story *story, struct presence *presence)
{
    const struct event *event = presence->event;
    const struct terms *terms = story->terms;
    size_t first, last;
    story_token(story, event->token, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct event *other = &story->events[story->by_token[i]];
        bool another =
            other->operation == RELEASE || (other->operation == ACQUIRE && other > event);
        if (another && other->sent >= event->sent)
            presence->to = least(presence->to, other->sent);
    }
    for (size_t i = 0; i < terms->disturbance_count; i++) {
        const struct disturbance *one = &terms->disturbances[i];
        bool concerned = !one->server || !event->server || one->server == event->server;
        if (!concerned || one->from >= presence->to || one->to + terms->settle_us <= event->sent)
            continue;
        if (one->from > presence->from)
            presence->to = one->from;
        else
            presence->from = most(presence->from, least(one->to, INT64_MAX / 2) + terms->settle_us);
    }
}

static struct presence presence_of(const struct story *story, const struct event *event)
{
    struct presence presence = {.event = event, .to = event->received};
    presence.from = event->queued ? event->queued : event->sent + story->terms->settle_us;
    presence.arrived = kept_since(story, event);
    if (!presence.arrived)
        presence.arrived = presence.from;
    if (event->outcome == TIMED_OUT)
        presence.to = least(presence.to, event->sent + event->wait_ms * 1000 - EARLY_US);
    if (event->granted)
        presence.to = least(presence.to, event->granted - TOLERANCE_US);
    if (event->hung_up)
        presence.to = least(presence.to, event->hung_up);
    else if (event->outcome == UNKNOWN)
        presence.to -= LATE_US; /* when the connection was lost */
    cut(story, &presence);
    return presence;
}

/* When the hold was granted, at the earliest and at the latest. */
static void date_grant(const struct story *story, const struct hold *hold, int64_t *earliest,
                       int64_t *latest)
{
    const struct event *grant = hold->grant == NO_EVENT ? NULL : &story->events[hold->grant];
    *earliest = hold->asked;
    *latest = hold->begin;
    if (grant && grant->granted) {
        *earliest = grant->granted - TOLERANCE_US;
        *latest = grant->granted + TOLERANCE_US;
    }
}

/* Whether the hold's owner may have had another when it was granted, which let it in: it need not
 * wait then. */
static bool enters_again(const struct story *story, const struct hold *hold, int64_t earliest,
                         int64_t latest)
{
    size_t first, last;
    if (!hold->reentrant)
        return false;
    story_window(story, earliest, latest, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct hold *other = &story->holds[i];
        if (other->fence != hold->fence && other->owner == hold->owner && other->asked <= latest &&
            other->dead >= earliest)
            return true;
    }
    for (size_t i = 0; i < story->maybe_count; i++) {
        const struct maybe *maybe = &story->maybes[i];
        if (maybe->owner == hold->owner && maybe->token != hold->token && maybe->asked <= latest &&
            maybe->dead >= earliest)
            return true;
    }
    return false;
}

/* When the hold's token was first asked for. */
static int64_t token_asked(const struct story *story, int token)
{
    size_t first, last;
    story_token(story, token, &first, &last);
    for (size_t i = first; i < last; i++)
        if (story->events[story->by_token[i]].operation == ACQUIRE)
            return story->events[story->by_token[i]].sent;
    return 0;
}

static void check_passed(const struct story *story, const struct presence *presence,
                         struct findings *findings)
{
    const struct event *event = presence->event;
    bool granted = event->outcome == DONE || event->outcome == HOLDING;
    size_t first, last;
    story_window(story, presence->from, presence->to, &first, &last);
    for (size_t i = first; i < last; i++) {
        const struct hold *hold = &story->holds[i];
        int64_t earliest, latest;
        date_grant(story, hold, &earliest, &latest);
        if (hold->token == event->token || (granted && event->fence < hold->fence) ||
            earliest < presence->from || latest > presence->to ||
            token_asked(story, hold->token) <= presence->arrived ||
            enters_again(story, hold, earliest, latest))
            continue;
        finding(findings, IN_ORDER, "%s passed %s, there since %" PRId64, hold_text(hold),
                event_text(event), presence->arrived);
    }
}

void check_order(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        if (!waits(&story->events[i]))
            continue;
        struct presence presence = presence_of(story, &story->events[i]);
        if (presence.from < presence.to)
            check_passed(story, &presence, findings);
    }
}

struct span {
    int64_t from;
    int64_t to;
};

static int by_start(const void *a, const void *b)
{
    const struct span *one = a, *other = b;
    return (one->from > other->from) - (one->from < other->from);
}

/* The times in which somebody may have had the lock, in order of their starts. */
static struct span *busy_spans(const struct story *story, size_t *count)
{
    struct span *spans = calloc(story->hold_count + story->maybe_count + 1, sizeof *spans);
    int64_t latest;
    if (!spans)
        abort();
    *count = 0;
    for (size_t i = 0; i < story->hold_count; i++) {
        struct span *span = &spans[(*count)++];
        date_grant(story, &story->holds[i], &span->from, &latest);
        span->to = most(hold_taken_until(&story->holds[i]), story->holds[i].begin);
    }
    for (size_t i = 0; i < story->maybe_count; i++)
        spans[(*count)++] = (struct span){story->maybes[i].asked, story->maybes[i].dead};
    qsort(spans, *count, sizeof *spans, by_start);
    return spans;
}

/* Nobody can have had the lock for so long: then nobody may have waited for it all that while. */
static void check_idle(const struct story *story, int64_t from, int64_t to,
                       struct findings *findings)
{
    int64_t allowed = story->terms->claim_us + story->terms->slack_us;
    if (to - from <= allowed)
        return;
    for (size_t i = 0; i < story->count && story->events[i].sent < to; i++) {
        if (!waits(&story->events[i]))
            continue;
        struct presence presence = presence_of(story, &story->events[i]);
        int64_t idle = least(presence.to, to) - most(presence.from, from);
        if (idle > allowed)
            finding(findings, NO_LOST_WAKE_UP, "for %" PRId64 " us, since %" PRId64 ": %s", idle,
                    most(presence.from, from), event_text(presence.event));
    }
}

void check_wake_ups(const struct story *story, struct findings *findings)
{
    size_t count;
    struct span *spans = busy_spans(story, &count);
    int64_t free_from = 0;
    for (size_t i = 0; i < count; i++) {
        check_idle(story, free_from, spans[i].from, findings);
        free_from = most(free_from, spans[i].to);
    }
    check_idle(story, free_from, INT64_MAX, findings);
    free(spans);
}

/* Whether a client of this owner may know of a hold, or may have just gone. */
static bool may_be_known(const struct story *story, const struct event *seen, int owner)
{
    for (size_t i = 0; i < story->maybe_count; i++) {
        const struct maybe *maybe = &story->maybes[i];
        if (maybe->owner == owner && maybe->asked <= seen->received && seen->sent <= maybe->dead)
            return true;
    }
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (event->operation == ACQUIRE && event->owner == owner && waits(event) &&
            event->sent <= seen->received && seen->sent <= event->received)
            return true;
    }
    return false;
}

void check_phantoms(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        for (size_t j = 0; event->outcome != UNKNOWN && j < event->shown_count; j++) {
            const struct shown *shown = &event->shown[j];
            if (shown->owner >= 0 && !story_hold(story, shown->fence) &&
                !may_be_known(story, event, shown->owner))
                finding(findings, NO_PHANTOM, "%" PRId64 " of owner %d, in %s", shown->fence,
                        shown->owner, event_text(event));
        }
    }
}

void check_waits(const struct story *story, struct findings *findings)
{
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        int64_t end = event->sent + event->wait_ms * 1000;
        if (event->outcome == TIMED_OUT && event->received < end - EARLY_US)
            finding(findings, WAITS_AS_ASKED, "%" PRId64 " us too early: %s", end - event->received,
                    event_text(event));
        if (event->outcome == DONE && event->granted > end + LATE_US && waits(event) &&
            !story_is_disturbed(story, event))
            finding(findings, WAITS_AS_ASKED, "%" PRId64 " us late: %s", event->granted - end,
                    event_text(event));
    }
}
