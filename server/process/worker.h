/* worker.h: a thread that serves, with its own loop, listening socket and connection to Redis. */
#ifndef BATON_SERVER_PROCESS_WORKER_H
#define BATON_SERVER_PROCESS_WORKER_H

#include "api/principals/principals.h"
#include "api/stats/contention.h"
#include "redis/address/url.h"
#include "server/http/https.h"
#include "server/log/damages.h"
#include "server/log/log.h"
#include "server/log/seldom.h"
#include "server/metrics/metrics.h"
#include "server/settings/settings.h"

/* Workers share only what struct worker_options has. They meet in Redis. */
struct worker;

/* Constant for the life of the workers. */
struct worker_options {
    const struct settings *settings;
    const struct redis_url *redis_url;
    const struct log *log;
    struct principals *principals; /* at the start; the worker takes its own reference */
    struct https *https;           /* the same; NULL: plain HTTP */
    struct connection_limits *connection_limits; /* of all workers */
    struct connection_limits *admin_connection_limits;
    int admin_fd;          /* the first worker serves health and metrics on it; -1: none */
    struct limits *limits; /* the workers change this and the next five */
    struct hold_counter *hold_counter;
    struct damages *damages;
    struct seldom *limits_named;
    struct contention *contention; /* each worker has its part */
    struct health *health;
    uint32_t process;                /* a random number for locks_open */
    char *(*metrics)(void *context); /* called on any worker's thread */
    void *context;
};

/* Starts the worker with this index, from 0. It takes over `listen_fd`, serves on it and counts in
 * `metrics`. Returns 0 or a negative errno. */
int worker_start(struct worker **ret, const struct worker_options *options, size_t index,
                 int listen_fd, struct metrics *metrics);

/* Replaces the principals; takes a reference of its own. Requests under way keep theirs. Call this
 * from one thread at a time. */
void worker_set_principals(struct worker *worker, struct principals *principals);

/* Replaces the certificates for new TLS clients. The rules of worker_set_principals apply. */
void worker_set_https(struct worker *worker, struct https *https);

/* Asks the worker to stop, without waiting. From any thread. */
void worker_ask_to_stop(struct worker *worker);

/* Waits until the thread has ended, and frees the worker. */
void worker_join(struct worker *worker);

#endif
