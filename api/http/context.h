/* context.h: struct api: the settings and objects that all requests of one worker share. */
#ifndef BATON_API_HTTP_CONTEXT_H
#define BATON_API_HTTP_CONTEXT_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct hold_counter;
struct contention;
struct exchange;
struct lock_event;
struct health;
struct limits;
struct locks;
struct principals;

/* The streams that have begun: of events, and of holds by connection. */
LIST_HEAD(connection_holds, connection_hold);
LIST_HEAD(event_streams, events);

/* One for each worker, used on its thread alone. */
struct api {
    struct locks *locks;
    struct principals *principals; /* who may ask: a reference of its own, see api_set_principals */
    bool asks_certificates;        /* whoever shows one may do all; there are no tokens */
    const char *allowed_hosts;     /* names that Host may have: cross_site.h; NULL: none more */
    struct limits *limits;         /* of the process; NULL: none */
    struct hold_counter *hold_counter;   /* of the process; NULL: nobody counts */
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
     * request it came from; NULL where there is none, or no more. May be NULL. */
    void (*on_lock_event)(void *context, const struct lock_event *event,
                          const struct exchange *exchange);
    void *lock_event_context;
    struct random_pool randomness; /* for tokens, owners and request ids */
    bool draining;
    bool store_is_away;                       /* as the streams were told */
    struct connection_holds connection_holds; /* those whose streams go on */
    struct event_streams event_streams;
};

#endif
