#include "redis/wire/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void endpoint_init(struct endpoint *endpoint, void (*doubted)(void *context), void *context)
{
    *endpoint = (struct endpoint){
        .asks = true, .until = UINT64_MAX, .doubted = doubted, .context = context};
}

static struct follower **place_of(struct endpoint *endpoint, const struct follower *follower)
{
    struct follower **place = &endpoint->first;
    while (*place && *place != follower)
        place = &(*place)->next;
    return place;
}

void endpoint_follow(struct endpoint *endpoint, struct follower *follower)
{
    follower->next = NULL;
    *place_of(endpoint, NULL) = follower;
}

void endpoint_leave(struct endpoint *endpoint, struct follower *follower)
{
    struct follower **place = place_of(endpoint, follower);
    if (*place)
        *place = follower->next;
}

static void endpoint_tell(const struct endpoint *endpoint)
{
    for (struct follower *follower = endpoint->first; follower; follower = follower->next)
        follower->changed(follower->context);
}

bool endpoint_is(const struct endpoint *endpoint, const char *host, int port)
{
    return endpoint->knows && port == endpoint->port && strcmp(host, endpoint->host) == 0;
}

void endpoint_set(struct endpoint *endpoint, const char *host, int port)
{
    if (endpoint_is(endpoint, host, port))
        return;
    endpoint->knows = true;
    endpoint->asks = false;
    endpoint->forbids = false;
    snprintf(endpoint->host, sizeof endpoint->host, "%s", host);
    endpoint->port = port;
    endpoint_tell(endpoint);
}

void endpoint_limit(struct endpoint *endpoint, uint64_t until)
{
    endpoint->until = until;
}

void endpoint_set_unknown(struct endpoint *endpoint, int code, const char *reason)
{
    bool is_news = endpoint->knows || endpoint->asks;
    endpoint->knows = false;
    endpoint->asks = false;
    endpoint->code = code;
    failure_set(&endpoint->reason, code, "%s", reason);
    if (is_news)
        endpoint_tell(endpoint);
}

static void endpoint_set_forbidden(struct endpoint *endpoint, bool asks, const char *reason)
{
    bool is_news = !endpoint->forbids || endpoint->asks != asks;
    endpoint->knows = false;
    endpoint->asks = asks;
    endpoint->forbids = true;
    endpoint->code = -EAGAIN;
    failure_set(&endpoint->reason, endpoint->code, "%s", reason);
    if (is_news)
        endpoint_tell(endpoint);
}

void endpoint_forbid(struct endpoint *endpoint, const char *reason)
{
    endpoint_set_forbidden(endpoint, false, reason);
}

void endpoint_withdraw(struct endpoint *endpoint, const char *reason)
{
    endpoint_set_forbidden(endpoint, true, reason);
}
