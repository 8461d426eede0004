/* doctored.h: words for hand-made histories. Times are written in milliseconds; every request takes
 * two, if nothing else is said. */
#ifndef BATON_TESTS_HISTORY_DOCTORED_H
#define BATON_TESTS_HISTORY_DOCTORED_H

#include "tests/history/checker.h"
#include "tests/history/story.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

/* An event is the usual one and, behind that, what differs. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define MS(ms) ((int64_t)(ms)*1000)

/* An event from `at` on, with what differs from the usual. */
#define EVENT(at, ...)                                                                             \
    {                                                                                              \
        .sent = MS(at), .received = MS(at) + 2000, .outcome = DONE, __VA_ARGS__                    \
    }

/* A granted acquire of token and owner `who`, for 100 ms, and what may be said otherwise. */
#define GRANT(...) GRANT_WITH(__VA_ARGS__, .operation = ACQUIRE)
#define GRANT_WITH(at, who, number, ...)                                                           \
    EVENT(at, .token = (who), .owner = (who), .hold_owner = (who), .ttl_ms = 100, .left_ms = 100,  \
          .holds = 1, .fence = (number), .version = (number), __VA_ARGS__)
#define SHARED(at, who, number, most)                                                              \
    GRANT(at, who, number, .shared = true, .hold_shared = true, .limit = (most),                   \
          .hold_limit = (most))

/* The same asked for again, a renewal and a release. */
#define AGAIN(...) AGAIN_WITH(__VA_ARGS__, .operation = ACQUIRE)
#define AGAIN_WITH(at, who, number, left, ...)                                                     \
    EVENT(at, .outcome = HOLDING, .token = (who), .owner = (who), .hold_owner = (who),             \
          .ttl_ms = 100, .left_ms = (left), .holds = 1, .fence = (number), .version = (number),    \
          __VA_ARGS__)
#define RENEWED(...) RENEWED_WITH(__VA_ARGS__, .operation = RENEW)
#define RENEWED_WITH(at, who, number, ms, ...)                                                     \
    EVENT(at, .token = (who), .hold_owner = (who), .ttl_ms = (ms), .left_ms = (ms), .holds = 1,    \
          .fence = (number), .version = (number), __VA_ARGS__)
#define RELEASED(...) RELEASED_WITH(__VA_ARGS__, .operation = RELEASE)
#define RELEASED_WITH(at, who, number, next, ...)                                                  \
    EVENT(at, .token = (who), .fence = (number), .held_ms = 20, .version = (next), __VA_ARGS__)

#define REFUSED(at, what, how, who) EVENT(at, .operation = (what), .token = (who), .outcome = (how))
#define BROKEN(at, number, holds)                                                                  \
    EVENT(at, .operation = BREAK, .token = EVERYBODY, .version = (number), .count = (holds))

/* A hold that is shown. */
#define BY(fence_, owner_, shared_)                                                                \
    {                                                                                              \
        .fence = (fence_), .owner = (owner_), .shared = (shared_)                                  \
    }

#define SEEN(...)                  SEEN_WITH(__VA_ARGS__, .operation = INSPECT)
#define SEEN_WITH(at, number, ...) EVENT(at, .token = NOBODY, .version = (number), __VA_ARGS__)

/* An acquire without a reply: its token may have got a hold. */
#define LOST(at, who)                                                                              \
    EVENT(at, .operation = ACQUIRE, .outcome = UNKNOWN, .token = (who), .owner = (who),            \
          .ttl_ms = 100)

#define HISTORY(...)                                                                               \
    (const struct event[]){__VA_ARGS__},                                                           \
        sizeof((const struct event[]){__VA_ARGS__}) / sizeof(struct event)

static inline void assert_good(const struct event *events, size_t count)
{
    struct findings findings;
    history_check(events, count, &findings);
    char *text = findings_text(&findings);
    if (findings.total > 0)
        fprintf(stderr, "%s", text);
    free(text);
    assert_int_equal(findings.total, 0);
}

/* Finds just this, and nothing else. */
static inline void assert_breaks(enum rule rule, const struct event *events, size_t count)
{
    struct findings findings;
    history_check(events, count, &findings);
    char *text = findings_text(&findings);
    if (findings.count[rule] == 0 || findings.total != findings.count[rule])
        fprintf(stderr, "expected %s alone, found: %s\n", rule_name(rule), text);
    free(text);
    assert_true(findings.count[rule] > 0);
    assert_int_equal(findings.total, findings.count[rule]);
}

#endif
