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

/* Renewals and releases have a bound of their own: so many times that of all requests. Whoever
 * holds many locks renews often. */
enum { KEEPING_FACTOR = 10 };

static bool keeps_holds(const struct route *route)
{
    return strcmp(route->method, "PUT") == 0 || strcmp(route->method, "DELETE") == 0;
}

/* 0: there is none. */
static int64_t rate_limit_of(const struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    const struct limits *limits = exchange->api->limits;
    return principal && limits && !exchange->is_admin ? limit_of(principal->rate_limit, limits->rate) : 0;
}

/* As draft-ietf-httpapi-ratelimit-headers-11 has it. */
static void tell(struct exchange *exchange, int64_t limit, int64_t left)
{
    reply_header(exchange, "RateLimit-Policy", "\"requests\";q=%" PRId64 ";w=1", limit);
    reply_header(exchange, "RateLimit", "\"requests\";r=%" PRId64 ";t=1", left);
}

bool limits_count(struct exchange *exchange)
{
    int64_t limit = rate_limit_of(exchange), now;
    if (limit == 0)
        return true;
    struct account *account = exchange->principal->account;
    bool keeps = keeps_holds(exchange->route);
    now = now_ns();
    struct rate rate = rate_count(&account->rate_ns, limit, now, keeps);
    tell(exchange, limit, rate.left);
    if (keeps)
        rate = rate_count(&account->keeping_ns, limit * KEEPING_FACTOR, now, false);
    if (rate.admitted)
        return true;
    reply_header(exchange, "Retry-After", "1");
    problem_simply(exchange, PROBLEM_RATE_LIMITED,
                   "no more than %" PRId64 " %s; nothing was done, so repeat it in a second",
                   keeps ? limit * KEEPING_FACTOR : limit,
                   keeps ? "renewals and releases per second are served, and one whose token holds "
                           "nothing counts as ten"
                         : "requests per second are served");
    return false;
}

void limits_charge_miss(const struct exchange *exchange)
{
    int64_t limit = rate_limit_of(exchange);
    if (limit > 0 && keeps_holds(exchange->route))
        rate_charge(&exchange->principal->account->keeping_ns, limit * KEEPING_FACTOR, now_ns(),
                    KEEPING_FACTOR - 1);
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

bool limits_receive(struct exchange *exchange)
{
    const struct limits *limits = exchange->api->limits;
    if (!exchange->has_body || exchange->drops_body || !limits || !exchange->principal)
        return true;
    exchange->receives =
        take_place(&exchange->principal->account->bodies, limits->principal_bodies);
    if (exchange->receives)
        return true;
    reply_header(exchange, "Retry-After", "1");
    problem_simply(exchange, PROBLEM_TOO_MANY_BODIES,
                   "the bodies of %" PRId64 " of your requests are still on their way "
                   "(max-bodies-per-principal); send each at once with its head, or use query "
                   "parameters, and repeat it in a second",
                   limits->principal_bodies);
    return false;
}

void limits_received(struct exchange *exchange)
{
    if (exchange->receives)
        atomic_fetch_sub_explicit(&exchange->principal->account->bodies, 1, memory_order_relaxed);
    exchange->receives = false;
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
