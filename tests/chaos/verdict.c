#include "tests/chaos/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES = 16 };

static int by_received(const void *a, const void *b)
{
    const struct event *one = a, *other = b;
    return (one->received > other->received) - (one->received < other->received);
}

void verdict_sort(struct record *record)
{
    if (record->count > 0)
        qsort(record->events, record->count, sizeof *record->events, by_received);
}

/* A grant counts once it is reported: the release before it was sent by then. */
static bool is_before(const struct event *event, int64_t us)
{
    return (event->operation == ACQUIRE ? event->received : event->sent) < us;
}

void verdict_until(const struct record *record, int64_t until, struct verdict *ret)
{
    static const struct disturbance ALL = {.server = 0, .from = 0, .to = INT64_MAX};
    static const struct terms TERMS = {.claim_us = 2000000,
                                       .slack_us = 1000000,
                                       .settle_us = 1000000,
                                       .is_confirmed = true,
                                       .disturbances = &ALL,
                                       .disturbance_count = 1};
    struct record reported = {.events = NULL};
    struct findings findings;
    *ret = (struct verdict){.grants = 0};
    for (size_t i = 0; i < record->count; i++)
        if (is_before(&record->events[i], until)) {
            record_add(&reported, &record->events[i]);
            ret->grants += is_grant(&record->events[i]);
        }
    history_check_on(&TERMS, reported.events, reported.count, &findings);
    ret->lost = findings.count[NO_LOSS];
    ret->doubles = findings.count[COMPATIBLE];
    ret->backward = findings.count[FENCES_GROW];
    ret->twins = findings.count[FENCES_DIFFER];
    memcpy(ret->first_double, findings.first[COMPATIBLE], FINDING_TEXT);
    memcpy(ret->first_loss, findings.first[NO_LOSS], FINDING_TEXT);
    record_free(&reported);
}

void verdict_pauses(const struct record *record, int64_t from, int64_t to, struct verdict *verdict)
{
    int64_t latest = from, of_name[NAMES] = {0};
    for (size_t i = 0; i < record->count; i++) {
        const struct event *event = &record->events[i];
        if (!is_grant(event) || event->received < from || event->received >= to)
            continue;
        int64_t *before = &of_name[event->name];
        if (event->received - latest > verdict->longest_us)
            verdict->longest_us = event->received - latest;
        if (*before && event->received - *before > verdict->longest_of_name_us)
            verdict->longest_of_name_us = event->received - *before;
        latest = *before = event->received;
    }
}
