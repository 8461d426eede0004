#include "redis/wire/guide.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void guide_init(struct guide *guide, void (*doubted)(void *context), void *context)
{
    *guide =
        (struct guide){.asks = true, .until = UINT64_MAX, .doubted = doubted, .context = context};
}

static struct follower **place_of(struct guide *guide, const struct follower *follower)
{
    struct follower **place = &guide->first;
    while (*place && *place != follower)
        place = &(*place)->next;
    return place;
}

void guide_follow(struct guide *guide, struct follower *follower)
{
    follower->next = NULL;
    *place_of(guide, NULL) = follower;
}

void guide_leave(struct guide *guide, struct follower *follower)
{
    struct follower **place = place_of(guide, follower);
    if (*place)
        *place = follower->next;
}

static void tell(const struct guide *guide)
{
    for (struct follower *follower = guide->first; follower; follower = follower->next)
        follower->turned(follower->context);
}

bool guide_points_to(const struct guide *guide, const char *host, int port)
{
    return guide->knows && port == guide->port && strcmp(host, guide->host) == 0;
}

void guide_point(struct guide *guide, const char *host, int port)
{
    if (guide_points_to(guide, host, port))
        return;
    guide->knows = true;
    guide->asks = false;
    guide->forbids = false;
    snprintf(guide->host, sizeof guide->host, "%s", host);
    guide->port = port;
    tell(guide);
}

void guide_limit(struct guide *guide, uint64_t until)
{
    guide->until = until;
}

void guide_despair(struct guide *guide, int code, const char *reason)
{
    bool is_news = guide->knows || guide->asks;
    guide->knows = false;
    guide->asks = false;
    guide->code = code;
    failure_set(&guide->reason, code, "%s", reason);
    if (is_news)
        tell(guide);
}

static void forbid(struct guide *guide, bool asks, const char *reason)
{
    bool is_news = !guide->forbids || guide->asks != asks;
    guide->knows = false;
    guide->asks = asks;
    guide->forbids = true;
    guide->code = -EAGAIN;
    failure_set(&guide->reason, guide->code, "%s", reason);
    if (is_news)
        tell(guide);
}

void guide_forbid(struct guide *guide, const char *reason)
{
    forbid(guide, false, reason);
}

void guide_withdraw(struct guide *guide, const char *reason)
{
    forbid(guide, true, reason);
}
