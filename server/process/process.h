/* process.h: the state of the process, which the main thread owns. */
#ifndef BATON_SERVER_PROCESS_PROCESS_H
#define BATON_SERVER_PROCESS_PROCESS_H

#include "api/access/limits.h"
#include "api/principals/principals.h"
#include "api/stats/contention.h"
#include "api/stats/health.h"
#include "api/stats/hold_counter.h"
#include "redis/address/url.h"
#include "redis/embedded/embedded.h"
#include "server/http/https.h"
#include "server/log/damages.h"
#include "server/log/log.h"
#include "server/log/seldom.h"
#include "server/metrics/metrics.h"
#include "server/net/connection_limits.h"
#include "server/net/listener.h"
#include "server/process/notify.h"
#include "server/process/worker.h"
#include "server/settings/settings.h"

#include <time.h>
#include <uv.h>

enum { WORKERS_MOST = HEALTH_LOOPS };

_Static_assert((int)WORKERS_MOST <= (int)CONTENTION_PARTS, "each worker has its part");

/* The main thread only starts, watches and ends the workers. */
struct process {
    struct metrics metrics[WORKERS_MOST]; /* one for each worker */
    struct settings settings;
    struct log log;
    struct listener listener;
    struct listener admin; /* zeroed: there is no such listener */
    char url[96];          /* the URL that clients use; set once batond serves */
    struct notify notify;
    struct embedded *embedded; /* NULL: there is a redis-url */
    struct redis_url redis_url;
    struct principals *principals; /* the callers, as last read */
    struct connection_limits *connection_limits;
    struct connection_limits *admin_connection_limits; /* NULL: no such listener */
    struct https *https;                               /* as last read; NULL: plain HTTP */
    struct limits limits;
    struct hold_counter hold_counter;
    struct contention contention;
    struct damages damages;
    struct seldom limits_named; /* the locks whose limits differ */
    struct health health;
    struct worker_options worker_options;
    struct worker *workers[WORKERS_MOST];
    size_t worker_count; /* constant once the first worker has started */
    time_t started;
    bool redis_is_away;      /* as last reported to the service manager */
    bool ends_with_terminal; /* SIGHUP stops batond if its terminal is gone */
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup, child;
    uv_timer_t restart;
    uv_timer_t grace; /* the drain: batond serves, and /readyz sends clients elsewhere */
    uv_timer_t look;  /* checks whether the workers' loops turn */
    uv_timer_t watchdog;
};

#endif
