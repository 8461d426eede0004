#include "tests/history/checker.h"

#include "tests/history/rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} RULE_TEXTS[] = {
#define X(rule, text) {#rule, text},
    RULES(X)
#undef X
};

static rule_check *const CHECKS[] = {
    check_compatible, check_revival,  check_origin,      check_releases_in_time, check_fences,
    check_versions,   check_changes,  check_own_replies, check_counts,           check_ttls,
    check_shown,      check_released, check_order,       check_wake_ups,         check_phantoms,
    check_waits,      check_taken,
};

const char *rule_name(enum rule rule)
{
    return RULE_TEXTS[rule].name;
}

void finding(struct findings *findings, enum rule rule, const char *format, ...)
{
    findings->total++;
    if (findings->count[rule]++ > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(findings->first[rule], FINDING_TEXT, format, arguments);
    va_end(arguments);
}

static char *next_text(void)
{
    static __thread char texts[4][160];
    static __thread unsigned next;
    return texts[next++ % 4];
}

const char *hold_text(const struct hold *hold)
{
    char *text = next_text();
    snprintf(text, 160,
             "hold %" PRId64 " of token %d, owner %d, %s, limit %d (certain %" PRId64 "-%" PRId64
             ", dead %" PRId64 ")",
             hold->fence, hold->token, hold->owner, hold->shared ? "shared" : "exclusive",
             hold->limit, hold->begin, hold->end, hold->dead);
    return text;
}

const char *event_text(const struct event *event)
{
    static const char *const OPERATION_TEXTS[] = {"acquire", "renew", "release", "break",
                                                  "inspect"};
    static const char *const OUTCOME_TEXTS[] = {
        "no reply",     "done",       "holding",   "locked",           "not_held",
        "unchanged",    "timed out",  "cancelled", "too many waiters", "upgrade_conflict",
        "token_in_use", "superseded", "?"};
    char *text = next_text();
    snprintf(text, 160,
             "%s of name %d by token %d at %" PRId64 "-%" PRId64 ": %s, fence %" PRId64
             ", version %" PRId64,
             OPERATION_TEXTS[event->operation], event->name, event->token, event->sent,
             event->received, OUTCOME_TEXTS[event->outcome], event->fence, event->version);
    return text;
}

static int by_name_and_time(const void *a, const void *b)
{
    const struct event *one = a, *other = b;
    if (one->name != other->name)
        return one->name < other->name ? -1 : 1;
    return (one->sent > other->sent) - (one->sent < other->sent);
}

static void check_name(const struct terms *terms, const struct event *events, size_t count,
                       struct findings *ret)
{
    struct story story;
    story_build(&story, terms, events, count);
    for (size_t i = 0; i < sizeof CHECKS / sizeof CHECKS[0]; i++)
        CHECKS[i](&story, ret);
    story_free(&story);
}

/* When the last was heard of a request without a proper reply. */
static int64_t latest(const struct event *event)
{
    return event->received > event->sent ? event->received : event->sent;
}

void history_check(const struct event *events, size_t count, struct findings *ret)
{
    static const struct terms USUAL = {
        .claim_us = 2000000, .slack_us = 100000, .settle_us = 1000000};
    history_check_on(&USUAL, events, count, ret);
}

void history_check_on(const struct terms *terms, const struct event *events, size_t count,
                      struct findings *ret)
{
    *ret = (struct findings){.total = 0};
    struct event *sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        abort();
    if (count > 0)
        memcpy(sorted, events, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        if (sorted[i].outcome == UNKNOWN && !sorted[i].hung_up)
            sorted[i].received = latest(&sorted[i]) + LATE_US;
    qsort(sorted, count, sizeof *sorted, by_name_and_time);
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first; last < count && sorted[last].name == sorted[first].name; last++)
            if (sorted[last].outcome == STRANGE)
                finding(ret, EXPECTED_REPLY, "%s", event_text(&sorted[last]));
        check_name(terms, sorted + first, last - first, ret);
    }
    free(sorted);
}

char *findings_text(const struct findings *findings)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (findings->count[rule] > 0)
            fprintf(out, "%s: %s, %zu times; first: %s\n", RULE_TEXTS[rule].name,
                    RULE_TEXTS[rule].text, findings->count[rule], findings->first[rule]);
    fclose(out);
    return text;
}
