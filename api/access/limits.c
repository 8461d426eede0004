#include "api/access/limits.h"

#include "api/access/rate.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "base/monotonic.h"

#include <inttypes.h>

static int64_t limits_own(int64_t own, int64_t common)
{
    return own == PRINCIPAL_LIMIT_UNSET ? common : own;
}

/* How many times the limit of other requests renewals and releases have, since a client with many
 * locks renews often. */
enum { KEEPING_FACTOR = 10 };

static bool limits_keeps_holds(const struct route *route)
{
    return strcmp(route->method, "PUT") == 0 || strcmp(route->method, "DELETE") == 0;
}

/* 0: no limit. */
static int64_t limits_rate(const struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    const struct limits *limits = exchange->api->limits;
    return principal && limits && !exchange->head.is_admin
               ? limits_own(principal->rate_limit, limits->rate)
               : 0;
}

/* As in draft-ietf-httpapi-ratelimit-headers-11. */
static void limits_add_headers(struct exchange *exchange, int64_t limit, int64_t left)
{
    reply_header(exchange, "RateLimit-Policy", "\"requests\";q=%" PRId64 ";w=1", limit);
    reply_header(exchange, "RateLimit", "\"requests\";r=%" PRId64 ";t=1", left);
}

bool limits_count(struct exchange *exchange)
{
    int64_t limit = limits_rate(exchange), now;
    if (limit == 0)
        return true;
    struct account *account = exchange->principal->account;
    bool keeps = limits_keeps_holds(exchange->route);
    now = monotonic_ns();
    struct rate rate = rate_count(&account->rate_ns, limit, now, keeps);
    limits_add_headers(exchange, limit, rate.left);
    if (keeps)
        rate = rate_count(&account->keeping_ns, limit * KEEPING_FACTOR, now, false);
    if (rate.admitted)
        return true;
    reply_header(exchange, "Retry-After", "1");
    problem_simply(
        exchange, PROBLEM_RATE_LIMITED,
        "You may send %" PRId64 " %s. Nothing was done; repeat the request in a second.",
        keeps ? limit * KEEPING_FACTOR : limit,
        keeps ? "renewals and releases per second, and one whose token holds nothing counts "
                "as ten"
              : "requests per second");
    return false;
}

void limits_charge_miss(const struct exchange *exchange)
{
    int64_t limit = limits_rate(exchange);
    if (limit > 0 && limits_keeps_holds(exchange->route))
        rate_charge(&exchange->principal->account->keeping_ns, limit * KEEPING_FACTOR,
                    monotonic_ns(), KEEPING_FACTOR - 1);
}

static bool limits_may_wait(const struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    bool watches = (exchange->route->fields & FIELD_BIT(FIELD_AFTER)) != 0;
    if (exchange->wants_events || field_given(parameters, FIELD_HOLD))
        return true;
    /* By default a watch waits, and an acquire does not. */
    return field_given(parameters, FIELD_WAIT) ? parameters->numbers[FIELD_WAIT] > 0 : watches;
}

static bool limits_take_place(_Atomic int64_t *taken, int64_t most)
{
    if (atomic_fetch_add_explicit(taken, 1, memory_order_relaxed) < most || most == 0)
        return true;
    atomic_fetch_sub_explicit(taken, 1, memory_order_relaxed);
    return false;
}

bool limits_receive(struct exchange *exchange)
{
    const struct limits *limits = exchange->api->limits;
    if (!exchange->head.has_body || exchange->drops_body || !limits || !exchange->principal)
        return true;
    exchange->receives =
        limits_take_place(&exchange->principal->account->bodies, limits->principal_bodies);
    if (exchange->receives)
        return true;
    reply_header(exchange, "Retry-After", "1");
    problem_simply(exchange, PROBLEM_TOO_MANY_BODIES,
                   "At most %" PRId64 " of your requests may send a body at once "
                   "(max-bodies-per-principal). Repeat the request in a second; send each body "
                   "together with its head, or use query parameters.",
                   limits->principal_bodies);
    return false;
}

void limits_received(struct exchange *exchange)
{
    if (exchange->receives)
        atomic_fetch_sub_explicit(&exchange->principal->account->bodies, 1, memory_order_relaxed);
    exchange->receives = false;
}

/* A counter that includes a request while it lasts. */
struct places {
    _Atomic int64_t *taken;
    int64_t most;       /* 0: no limit */
    const char *bound;  /* for the client... */
    const char *detail; /* ...behind the number */
};

enum { PLACES_MOST = 3 };

static void limits_refuse(struct exchange *exchange, const struct places *places)
{
    json_t *document = problem_new(exchange, PROBLEM_TOO_MANY_WAITERS, "At most %" PRId64 " of %s",
                                   places->most, places->detail);
    json_object_set_new(document, "bound", json_string(places->bound));
    reply_header(exchange, "Retry-After", "1");
    problem_answer(exchange, PROBLEM_TOO_MANY_WAITERS, document);
}

/* Gives the same result at the end of a request as at its start. */
static size_t limits_places(const struct exchange *exchange, struct places ret[PLACES_MOST])
{
    struct limits *limits = exchange->api->limits;
    const struct principal *principal = exchange->principal;
    struct account *account = principal->account;
    size_t count = 0;
    ret[count++] = (struct places){
        &account->waiters, limits_own(principal->max_waiters, limits->principal_waiters),
        "principal", "your requests may wait at once. Try again later, or do not wait."};
    if (exchange->wants_events)
        ret[count++] = (struct places){
            &account->streams, limits_own(principal->max_streams, limits->principal_streams),
            "streams",
            "your event streams may be open at once (max-streams-per-principal). Close one, or ask "
            "for application/json with `after`."};
    else if (field_given(&exchange->parameters, FIELD_HOLD))
        ret[count++] = (struct places){
            &account->connection_holds,
            limits_own(principal->max_connection_holds, limits->principal_connection_holds),
            "connection_holds",
            "your locks may be held by their connections at once "
            "(max-connection-holds-per-principal). Release one, or acquire without hold=connection "
            "and renew."};
    ret[count++] = (struct places){
        &limits->waiting, limits->process_waiters, "process",
        "this batond's requests may wait at once. Try again later, or do not wait."};
    return count;
}

static void limits_give_back(const struct places *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_fetch_sub_explicit(places[i].taken, 1, memory_order_relaxed);
}

bool limits_enter(struct exchange *exchange)
{
    struct places places[PLACES_MOST];
    if (!exchange->api->limits || !exchange->principal || !limits_may_wait(exchange))
        return true;
    size_t count = limits_places(exchange, places);
    for (size_t i = 0; i < count; i++) {
        if (limits_take_place(places[i].taken, places[i].most))
            continue;
        limits_give_back(places, i);
        limits_refuse(exchange, &places[i]);
        return false;
    }
    exchange->counted = true;
    return true;
}

void limits_leave(struct exchange *exchange)
{
    struct places places[PLACES_MOST];
    if (!exchange->counted)
        return;
    exchange->counted = false;
    limits_give_back(places, limits_places(exchange, places));
}
