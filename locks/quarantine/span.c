#include "locks/quarantine/span.h"

enum {
    SEEN_US = 2000000,  /* after this time Redis may have another epoch */
    MORE_US = 10000000, /* how long a TTL is remembered after its end: the epoch may get it late */
};

bool span_covers(const struct span *span, int64_t ttl, int64_t now)
{
    return ttl <= span->now && now < span->turns && now < span->seen + SEEN_US;
}

void span_ask(struct span *span, int64_t ttl, int64_t now)
{
    if (ttl >= span->asked || now >= span->asked_at + span->asked + MORE_US)
        span->asked = ttl;
    span->asked_at = now;
}

void span_see(struct span *span, int64_t in_window, int64_t before, int64_t turns, int64_t now)
{
    span->now = in_window;
    span->before = before;
    span->turns = turns;
    span->seen = now;
    if (span->asked <= in_window)
        span->asked = 0;
}

static int64_t span_greater(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Forgets the holds of an epoch that is no longer read once they must have ended. */
int64_t span_longest(const struct span *span, int64_t now)
{
    int64_t asked = now < span->asked_at + span->asked + MORE_US ? span->asked : 0;
    if (now < span->turns)
        return span_greater(asked, span_greater(span->now, span->before));
    return now < span->turns + span->now + MORE_US ? span_greater(asked, span->now) : asked;
}
