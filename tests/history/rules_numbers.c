#include "tests/history/rules.h"

#include <stdlib.h>

/* A number that a reply reported. */
struct number {
    int64_t at; /* what it is sorted by: when it was known, or when it was asked for */
    int64_t value;
    size_t event;
};

struct numbers {
    struct number *items;
    size_t count;
};

static int by_time(const void *a, const void *b)
{
    const struct number *one = a, *other = b;
    return (one->at > other->at) - (one->at < other->at);
}

static struct numbers make_numbers(const struct story *story)
{
    struct numbers numbers = {calloc(story->count + 1, sizeof *numbers.items), 0};
    if (!numbers.items)
        abort();
    return numbers;
}

static void sort(struct numbers *numbers)
{
    qsort(numbers->items, numbers->count, sizeof *numbers->items, by_time);
}

static bool reports_fence(const struct event *event)
{
    return event->operation == ACQUIRE && event->outcome == DONE;
}

static bool reports_version(const struct event *event)
{
    return event->version > 0 && event->outcome != UNKNOWN;
}

/* By arrival: each with the greatest number known by then. */
static struct numbers known(const struct story *story, bool (*reports)(const struct event *),
                            bool fences)
{
    struct numbers known = make_numbers(story);
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (reports(event))
            known.items[known.count++] =
                (struct number){event->received, fences ? event->fence : event->version, i};
    }
    sort(&known);
    for (size_t i = 1; i < known.count; i++) {
        if (known.items[i - 1].value > known.items[i].value) {
            known.items[i].value = known.items[i - 1].value;
            known.items[i].event = known.items[i - 1].event;
        }
    }
    return known;
}

/* By the time of asking: each with the least version that was told to anybody who asked then or
 * later. */
static struct numbers yet_reported(const struct story *story)
{
    struct numbers reported = make_numbers(story);
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (reports_version(event))
            reported.items[reported.count++] = (struct number){event->sent, event->version, i};
    }
    sort(&reported);
    for (size_t i = reported.count; i-- > 1;) {
        if (reported.items[i].value < reported.items[i - 1].value) {
            reported.items[i - 1].value = reported.items[i].value;
            reported.items[i - 1].event = reported.items[i].event;
        }
    }
    return reported;
}

/* How many of them are at or before (else: before) `time`. */
static size_t up_to(const struct numbers *numbers, int64_t time, bool or_at)
{
    size_t low = 0, high = numbers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t at = numbers->items[middle].at;
        if (at < time || (or_at && at == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The greatest number known when the event was sent; NULL where there was none. */
static const struct number *known_at(const struct numbers *known, int64_t time)
{
    size_t count = up_to(known, time, true);
    return count > 0 ? &known->items[count - 1] : NULL;
}

void check_fences(const struct story *story, struct findings *findings)
{
    struct numbers fences = known(story, reports_fence, true);
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (!reports_fence(event))
            continue;
        const struct hold *hold = story_hold(story, event->fence);
        const struct number *before = known_at(&fences, hold ? hold->asked : event->sent);
        if (before && before->value >= event->fence)
            finding(findings, FENCES_GROW, "%s after %s", event_text(event),
                    event_text(&story->events[before->event]));
    }
    free(fences.items);
}

/* Whether this very request changed something, so that its version must be new. What one is granted
 * that waited may have been changed for an earlier request of its token. */
static bool is_change(const struct event *event)
{
    return (reports_fence(event) && event->wait_ms == 0) ||
           (event->operation == BREAK && event->count > 0);
}

static void check_version(const struct event *event, const struct event *before, int64_t version,
                          struct findings *findings)
{
    enum rule rule = event->outcome == UNCHANGED ? UNCHANGED_IS_TRUE : VERSIONS_GROW;
    if (version > event->version)
        finding(findings, rule, "%s after %s", event_text(event), event_text(before));
    else if (version == event->version && is_change(event))
        finding(findings, CHANGES_SHOW, "%s after %s", event_text(event), event_text(before));
}

void check_versions(const struct story *story, struct findings *findings)
{
    struct numbers versions = known(story, reports_version, false);
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        const struct number *before = known_at(&versions, event->sent);
        if (before && reports_version(event))
            check_version(event, &story->events[before->event], before->value, findings);
    }
    free(versions.items);
}

struct change {
    const struct story *story;
    struct numbers versions;
    struct numbers reported;
    struct findings *findings;
};

/* Something changed between `from` and `to`: who asked after that must be told a greater version
 * than was known before. */
static void check_change(const struct change *change, int64_t from, int64_t to, const char *what)
{
    const struct number *before = known_at(&change->versions, from);
    size_t later = up_to(&change->reported, to, false);
    if (from > to || !before || later == change->reported.count)
        return;
    const struct number *after = &change->reported.items[later];
    if (after->value > before->value)
        return;
    const struct event *event = &change->story->events[after->event];
    finding(change->findings, event->outcome == UNCHANGED ? UNCHANGED_IS_TRUE : CHANGES_SHOW,
            "%s, known before from %s; between the two: %s", event_text(event),
            event_text(&change->story->events[before->event]), what);
}

void check_changes(const struct story *story, struct findings *findings)
{
    struct change change = {story, known(story, reports_version, false), yet_reported(story),
                            findings};
    for (size_t i = 0; i < story->hold_count; i++) {
        const struct hold *hold = &story->holds[i];
        if (hold->grant != NO_EVENT)
            check_change(&change, hold->asked, story->events[hold->grant].received,
                         hold_text(hold));
        check_change(&change, hold->end > hold->asked ? hold->end : hold->asked, hold->dead,
                     hold_text(hold));
    }
    for (size_t i = 0; i < story->count; i++) {
        const struct event *event = &story->events[i];
        if (event->operation == BREAK && event->outcome == DONE && event->count > 0)
            check_change(&change, event->sent, event->received, event_text(event));
    }
    free(change.versions.items);
    free(change.reported.items);
}
