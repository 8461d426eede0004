#include "api/access/completion.h"
#include "api/access/credentials.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/operations/operations.h"
#include "api/stats/health.h"

#include <stdio.h>

enum { DETAIL_SIZE = 640 };

/* The checks so far. The reply reports the first one that fails. */
struct verdict {
    json_t *checks; /* every check, for `verbose`; else NULL */
    bool fails;
    enum problem problem;
    char detail[DETAIL_SIZE];
};

/* Adds a check to the list without an effect on the verdict. `detail` may be "". Returns the entry,
 * borrowed, or NULL if there is no list. */
static json_t *readiness_list(struct verdict *verdict, const char *name, bool is_well,
                              const char *detail)
{
    if (!verdict->checks)
        return NULL;
    json_t *entry = json_pack("{s:s, s:b}", "name", name, "ok", is_well);
    if (detail[0])
        json_object_set_new(entry, "detail", json_string(detail));
    json_array_append_new(verdict->checks, entry);
    return entry;
}

/* The same for a check that decides whether this batond is ready. */
static void readiness_check(struct verdict *verdict, const char *name, bool is_well,
                            enum problem problem, const char *detail)
{
    readiness_list(verdict, name, is_well, detail);
    if (is_well || verdict->fails)
        return;
    verdict->fails = true;
    verdict->problem = problem;
    snprintf(verdict->detail, sizeof verdict->detail, "%s", detail);
}

/* The checks that do not need Redis. */
static struct verdict check_process(const struct exchange *exchange)
{
    const struct api *api = exchange->api;
    size_t loops = health_loops(api->health);
    bool verbose = exchange->parameters.numbers[FIELD_VERBOSE];
    struct verdict verdict = {.checks = verbose ? json_array() : NULL};
    bool leaves = api->draining || health_is_leaving(api->health);
    readiness_check(&verdict, "draining", !leaves, PROBLEM_DRAINING,
                    leaves ? "Send requests to another batond." : "");
    for (size_t i = 0; i < loops; i++) {
        char name[32], detail[128] = "";
        bool is_stuck = health_is_stuck(api->health, i);
        snprintf(name, sizeof name, "worker %zu", i + 1);
        if (is_stuck)
            snprintf(detail, sizeof detail, HEALTH_STUCK, i + 1, loops);
        readiness_check(&verdict, name, !is_stuck, PROBLEM_STUCK, detail);
    }
    return verdict;
}

/* Only callers with the right to metrics see the version. */
static void readiness_answer(struct exchange *exchange, const struct verdict *verdict)
{
    json_t *document = verdict->fails
                           ? problem_new(exchange, verdict->problem, "%s", verdict->detail)
                           : json_pack("{s:s}", "status", "ready");
    if (verdict->checks)
        json_object_set_new(document, "checks", verdict->checks);
    if (verdict->checks && credentials_allow(exchange, VERB_METRICS))
        json_object_set_new(document, "version", json_string(BATON_VERSION));
    if (verdict->fails)
        problem_answer(exchange, verdict->problem, document);
    else
        reply_json(exchange, 200, "application/json", document);
}

/* All batonds of this Redis share the quarantine and serve everything but grants. A load balancer
 * should not remove them, so the check is listed but has no effect on the verdict. */
static void check_quarantine(const struct exchange *exchange, struct verdict *verdict)
{
    const struct locks *locks = exchange->api->locks;
    enum quarantine_reason reason;
    char by[48] = "", detail[DETAIL_SIZE];
    int64_t left_ms = locks_quarantine(locks, slice_of(NULL), &reason);
    const char *why = quarantine_text(reason);
    unsigned servers = locks_quarantined(locks);
    if (left_ms == 0)
        return;
    if (servers > 0)
        snprintf(by, sizeof by, " by %u of the servers of Redis", servers);
    snprintf(
        detail, sizeof detail,
        "new locks are paused%s for another %lld s: %s; renewals and releases are served, and GET "
        "/quarantine says more",
        by, (long long)((left_ms + 999) / 1000), why);
    json_t *entry = readiness_list(verdict, "quarantine", locks_pause(locks, &reason) == 0, detail);
    if (!entry)
        return;
    json_object_set_new(entry, "because", json_string(why));
    json_object_set_new(entry, "left_ms", json_integer(left_ms));
    if (servers > 0)
        json_object_set_new(entry, "servers", json_integer(servers));
}

/* Only callers with the right to metrics see the address of Redis and its error. `trouble` is for
 * everybody; NULL: Redis is well. */
static void describe_redis(const struct exchange *exchange, const char *trouble,
                           char text[DETAIL_SIZE])
{
    const struct locks *locks = exchange->api->locks;
    bool may_know = credentials_allow(exchange, VERB_METRICS);
    int length = snprintf(text, DETAIL_SIZE, "%s", may_know ? locks_primary(locks) : "");
    if (!trouble)
        return;
    if (may_know && locks_trouble(locks)[0])
        trouble = locks_trouble(locks);
    snprintf(text + length, DETAIL_SIZE - (size_t)length, "%s%s", length > 0 ? "; " : "", trouble);
}

static void readiness_on_asked(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    struct verdict verdict = check_process(exchange);
    bool is_confirmed = reply->result != LOCKS_UNCONFIRMED;
    bool is_well = reply->result == LOCKS_DONE || !is_confirmed;
    const char *trouble = reply->error ? reply->error : "Redis cannot be asked";
    char detail[DETAIL_SIZE];
    describe_redis(exchange, is_well ? NULL : trouble, detail);
    readiness_check(&verdict, "redis", is_well, PROBLEM_STORE_UNAVAILABLE, detail);
    if (exchange->api->replicas > 0)
        readiness_check(&verdict, "replicas", is_confirmed, PROBLEM_UNCONFIRMED,
                        is_confirmed ? "" : trouble);
    check_quarantine(exchange, &verdict);
    readiness_answer(exchange, &verdict);
    exchange_resume(exchange);
}

/* If this batond is not ready anyway, it says so at once, however slow Redis is. */
enum handling get_readiness(struct exchange *exchange)
{
    struct verdict verdict = check_process(exchange);
    if (verdict.fails && !verdict.checks) {
        readiness_answer(exchange, &verdict);
        return ANSWERED;
    }
    json_decref(verdict.checks);
    locks_ready(exchange->api->locks, exchange->api->replicas, readiness_on_asked, exchange);
    return PARKED;
}
