/* api.h: the HTTP interface as a whole: takes an exchange, sees to it that it is answered. */
#ifndef BATON_API_API_H
#define BATON_API_API_H

#include "api/access/limits.h"
#include "api/access/principals.h"
#include "api/http/events.h"
#include "api/http/exchange.h"
#include "api/operations/hold_connection.h"
#include "api/routes.h"
#include "api/stats/census.h"
#include "api/stats/contention.h"
#include "api/stats/happening.h"
#include "api/stats/health.h"

/* One for each worker, used on its thread alone. */
struct api {
    struct locks *locks;
    struct principals *principals; /* who may ask: a reference of its own, see api_set_principals */
    bool asks_certificates;        /* whoever shows one may do all; there are no tokens */
    const char *allowed_hosts;     /* names that Host may have: cross_site.h; NULL: none more */
    struct limits *limits;         /* of the process; NULL: none */
    struct census *census;         /* of the process; NULL: nobody counts */
    const struct contention *contention; /* of the process; NULL: nobody looks */
    const struct health *health;         /* of the process; NULL: it is well */
    int64_t default_ttl_ms;
    int64_t max_ttl_ms;
    int64_t max_wait_ms;
    bool quorum;      /* a majority of independent Redis keeps the locks: see offered.h */
    bool embedded;    /* Redis is batond's own, which has no replicas: likewise */
    int64_t replicas; /* of Redis that confirm every grant and renewal; 0: none */
    /* Writes the metrics of the whole process as Prometheus text, allocated by malloc. */
    char *(*metrics)(void *context);
    void *context;
    /* Is told all that happens to locks, in order, from the loop. The exchange is that of the
     * request it happened by, and NULL where there is none, or no more. May be NULL. */
    void (*happened)(void *context, const struct happening *happening,
                     const struct exchange *exchange);
    void *happened_context;
    struct random_pool randomness; /* for tokens, owners and request ids */
    bool draining;
    bool store_is_away;                       /* as the streams were told */
    struct connection_holds connection_holds; /* those whose streams go on */
    struct event_streams event_streams;
};

/* Judges an exchange by its head: whether there is such a route, who asks, how often, and whether
 * its body may be kept. False where it has been answered, so that nothing of its body is needed. */
bool api_admit(struct api *api, struct exchange *exchange);

/* Answers an exchange that was admitted and has its body, or parks it: then exchange->answered is
 * called later, from the loop and not before api_handle has returned. */
enum handling api_handle(struct exchange *exchange);

/* Answers an exchange that is no proper HTTP, and why not. */
void api_refuse_request(struct api *api, struct exchange *exchange, const char *why);

/* Answers an exchange that was admitted, whose body is longer than EXCHANGE_BODY_LONGEST. */
void api_refuse_body(struct exchange *exchange);

/* Answers an exchange whose request line and header fields are larger than `most` bytes. */
void api_refuse_head(struct api *api, struct exchange *exchange, size_t most);

/* From now on these may ask; takes the reference over. Requests under way go on as those they were.
 */
void api_set_principals(struct api *api, struct principals *principals);

/* This batond is about to stop. Whoever waits is answered 503 `draining`, watches get what there
 * is, streams end, and readiness is denied from now on; all else is served as before. */
void api_drain(struct api *api);

/* Whether Redis can be asked, as far as is known without asking it: streams of events are told
 * where that has changed. */
void api_set_store(struct api *api, bool is_available);

/* Whether the reply tells of a new hold, which nobody else can tell the client of. */
bool api_has_granted(const struct exchange *exchange);

#endif
