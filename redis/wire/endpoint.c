#include "redis/wire/endpoint.h"

#include "base/host_name.h"

#include <errno.h>
#include <stdio.h>

void endpoint_init(struct endpoint *endpoint, void (*doubted)(void *context), void *context)
{
    *endpoint = (struct endpoint){
        .asks = true, .until = UINT64_MAX, .doubted = doubted, .context = context};
    TAILQ_INIT(&endpoint->followers);
}

void endpoint_follow(struct endpoint *endpoint, struct follower *follower)
{
    TAILQ_INSERT_TAIL(&endpoint->followers, follower, others);
}

void endpoint_leave(struct endpoint *endpoint, struct follower *follower)
{
    TAILQ_REMOVE(&endpoint->followers, follower, others);
}

static void endpoint_notify(const struct endpoint *endpoint)
{
    for (struct follower *follower = TAILQ_FIRST(&endpoint->followers); follower;
         follower = TAILQ_NEXT(follower, others))
        follower->changed(follower->context);
}

bool endpoint_is(const struct endpoint *endpoint, const char *host, int port)
{
    return endpoint->knows && port == endpoint->port &&
           host_names_equal(slice_of(host), slice_of(endpoint->host));
}

void endpoint_set_next(struct endpoint *endpoint, const char *host, int port)
{
    endpoint->knows = true;
    endpoint->asks = false;
    endpoint->forbids = false;
    snprintf(endpoint->host, sizeof endpoint->host, "%s", host);
    endpoint->port = port;
}

void endpoint_set(struct endpoint *endpoint, const char *host, int port)
{
    if (endpoint_is(endpoint, host, port))
        return;
    endpoint_set_next(endpoint, host, port);
    endpoint_notify(endpoint);
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
        endpoint_notify(endpoint);
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
        endpoint_notify(endpoint);
}

void endpoint_forbid(struct endpoint *endpoint, const char *reason)
{
    endpoint_set_forbidden(endpoint, false, reason);
}

void endpoint_withdraw(struct endpoint *endpoint, const char *reason)
{
    endpoint_set_forbidden(endpoint, true, reason);
}
