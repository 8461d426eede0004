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

/* The streams of one worker. */
LIST_HEAD(connection_holds, connection_hold);
LIST_HEAD(event_streams, events);

/* Each worker has one, and uses it on its own thread only. */
struct api {
    struct locks *locks;
    struct principals *principals; /* holds a reference; api_set_principals replaces it */
    bool asks_certificates; /* a client with a certificate has every right; there are no tokens */
    const char *allowed_hosts;           /* further names for Host, see cross_site.h; NULL: none */
    struct limits *limits;               /* of the process; NULL: none */
    struct hold_counter *hold_counter;   /* of the process; NULL: holds are not counted */
    const struct contention *contention; /* of the process; NULL: not kept */
    const struct health *health;         /* of the process; NULL: always healthy */
    int64_t default_ttl_ms;
    int64_t max_ttl_ms;
    int64_t max_held_ms; /* 0: none */
    int64_t max_wait_ms;
    bool serves_https;
    bool quorum;      /* a quorum of Redis keeps the locks; offered.h refuses what it lacks */
    bool embedded;    /* Redis is batond's own and has no replicas; offered.h refuses these */
    int64_t replicas; /* how many replicas of Redis confirm every grant and renewal */
    /* Writes the metrics of the whole process as Prometheus text, allocated by malloc. */
    char *(*metrics)(void *context);
    void *context;
    /* Gets every event of a lock, in order, from the loop. `exchange` is the request that caused
     * the event; NULL if no request did, or if the request has ended. The callback may be NULL. */
    void (*on_lock_event)(void *context, const struct lock_event *event,
                          const struct exchange *exchange);
    void *lock_event_context;
    struct random_pool randomness; /* for tokens, owners and request ids */
    bool draining;
    bool store_is_away;                       /* as last sent to the event streams */
    struct connection_holds connection_holds; /* with an open stream */
    struct event_streams event_streams;
};

#endif
