#include "api/limits.h"

#include "api/api.h"
#include "api/problem.h"
#include "api/rate.h"

#include <inttypes.h>
#include <time.h>

static int64_t limit_of(int64_t own, int64_t common)
{
    return own == PRINCIPAL_LIMIT_UNSET ? common : own;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool must_pass(const struct route *route)
{
    return strcmp(route->method, "PUT") == 0 || strcmp(route->method, "DELETE") == 0;
}

/* As draft-ietf-httpapi-ratelimit-headers-11 has it. */
static void tell(struct exchange *exchange, int64_t limit, int64_t left)
{
    reply_header(exchange, "RateLimit-Policy", "\"requests\";q=%" PRId64 ";w=1", limit);
    reply_header(exchange, "RateLimit", "\"requests\";r=%" PRId64 ";t=1", left);
}

bool limits_count(struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    const struct limits *limits = exchange->api->limits;
    if (!principal || !limits)
        return true;
    int64_t limit = limit_of(principal->rate_limit, limits->rate);
    if (limit == 0)
        return true;
    struct rate rate =
        rate_count(&principal->account->rate_ns, limit, now_ns(), must_pass(exchange->route));
    tell(exchange, limit, rate.left);
    if (rate.admitted)
        return true;
    reply_header(exchange, "Retry-After", "1");
    problem_simply(exchange, PROBLEM_RATE_LIMITED,
                   "no more than %" PRId64 " requests per second are served; nothing was done, so "
                   "repeat it in a second",
                   limit);
    return false;
}

static bool may_wait(const struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    bool watches = (exchange->route->fields & FIELD_BIT(FIELD_AFTER)) != 0;
    if (exchange->wants_events || field_given(parameters, FIELD_HOLD))
        return true;
    /* Who watches waits unless it says otherwise, who acquires does not. */
    return field_given(parameters, FIELD_WAIT) ? parameters->numbers[FIELD_WAIT] > 0 : watches;
}

static bool take_place(_Atomic int64_t *taken, int64_t most)
{
    if (atomic_fetch_add_explicit(taken, 1, memory_order_relaxed) < most || most == 0)
        return true;
    atomic_fetch_sub_explicit(taken, 1, memory_order_relaxed);
    return false;
}

static void refuse(struct exchange *exchange, int64_t most, const char *bound, const char *whose)
{
    json_t *document = problem_new(exchange, PROBLEM_TOO_MANY_WAITERS,
                                   "no more than %" PRId64 " of %s requests may wait at once; "
                                   "come again later, or ask without waiting",
                                   most, whose);
    json_object_set_new(document, "bound", json_string(bound));
    reply_header(exchange, "Retry-After", "1");
    problem_answer(exchange, PROBLEM_TOO_MANY_WAITERS, document);
}

bool limits_enter(struct exchange *exchange)
{
    struct limits *limits = exchange->api->limits;
    if (!limits || !exchange->principal || !may_wait(exchange))
        return true;
    struct account *account = exchange->principal->account;
    int64_t own = limit_of(exchange->principal->max_waiters, limits->principal_waiters);
    if (!take_place(&account->waiters, own)) {
        refuse(exchange, own, "principal", "your");
        return false;
    }
    if (!take_place(&limits->waiting, limits->process_waiters)) {
        atomic_fetch_sub_explicit(&account->waiters, 1, memory_order_relaxed);
        refuse(exchange, limits->process_waiters, "process", "this batond's");
        return false;
    }
    exchange->counted = true;
    return true;
}

void limits_leave(struct exchange *exchange)
{
    if (!exchange->counted)
        return;
    exchange->counted = false;
    atomic_fetch_sub_explicit(&exchange->principal->account->waiters, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&exchange->api->limits->waiting, 1, memory_order_relaxed);
}
