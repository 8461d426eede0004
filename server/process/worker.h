/* worker.h: one thread with all it needs: a loop, a listening socket, a connection to Redis. */
#ifndef BATON_SERVER_PROCESS_WORKER_H
#define BATON_SERVER_PROCESS_WORKER_H

#include "api/principals/principals.h"
#include "api/stats/contention.h"
#include "redis/address/url.h"
#include "server/http/https.h"
#include "server/log/damages.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/settings/settings.h"

/* Workers share nothing but what is constant; they meet in Redis. */
struct worker;

/* Constant for the life of the workers. */
struct worker_options {
    const struct settings *settings;
    const struct redis_url *redis_url;
    const struct log *log;
    struct principals *principals; /* at first; the worker takes a reference of its own */
    struct https *https;           /* the same; NULL: plain HTTP */
    struct connection_limits *connection_limits; /* of all workers */
    struct connection_limits *admin_connection_limits;
    int admin_fd; /* health and figures alone are served on it, by the first worker; -1: none */
    struct limits *limits; /* the only things that they change together: these, */
    struct hold_counter *hold_counter;
    struct damages *damages;
    struct tickets *tickets;         /* and with a quorum, who waits */
    struct contention *contention;   /* to each worker its part */
    struct health *health;           /* what they show of the process */
    uint32_t process;                /* a random number for locks_open */
    char *(*metrics)(void *context); /* called on any worker's thread */
    void *context;
};

/* Starts the thread with this index, from 0, that serves on `listen_fd`, which it takes over, and
 * counts in `metrics`. Returns 0 or a negative errno. */
int worker_start(struct worker **ret, const struct worker_options *options, size_t index,
                 int listen_fd, struct metrics *metrics);

/* Who may ask from now on; takes a reference of its own. What is under way goes on. From one thread
 * at a time, whichever. */
void worker_set_principals(struct worker *worker, struct principals *principals);

/* What TLS clients are shown from now on; likewise. */
void worker_set_https(struct worker *worker, struct https *https);

/* Asks the worker to end in good order; does not wait. From any thread. */
void worker_ask_to_stop(struct worker *worker);

/* Waits until the thread has ended, and frees. */
void worker_join(struct worker *worker);

#endif
