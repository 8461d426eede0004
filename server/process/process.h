/* process.h: what batond is made of, as its main thread keeps it. */
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

/* The process. The main thread only starts, watches and ends the others. */
struct process {
    struct metrics metrics[WORKERS_MOST]; /* of each worker */
    struct settings settings;
    struct log log;
    struct listener listener;
    struct listener admin; /* zeroed: none */
    char url[96];          /* of what it serves, while it does */
    struct notify notify;
    struct embedded *embedded; /* NULL with a redis-url */
    struct redis_url redis_url;
    struct principals *principals; /* who may ask now */
    struct connection_limits *connection_limits;
    struct connection_limits *admin_connection_limits; /* NULL: there is no such listener */
    struct https *https; /* what TLS clients are shown now; NULL: plain HTTP */
    struct limits limits;
    struct hold_counter hold_counter;
    struct contention contention;
    struct tickets *tickets; /* who waits for locks of a quorum */
    struct damages damages;
    struct health health;
    struct worker_options worker_options;
    struct worker *workers[WORKERS_MOST];
    size_t worker_count; /* not changed once the first has started */
    time_t started;
    bool redis_is_away;      /* as the service manager was told */
    bool ends_with_terminal; /* SIGHUP stops it where the terminal is gone that it was started on */
    uv_loop_t loop;
    uv_signal_t terminate, interrupt, hangup, child;
    uv_timer_t restart;
    uv_timer_t grace; /* serves on, while others are told to go elsewhere */
    uv_timer_t look;  /* whether the workers' loops turn */
    uv_timer_t watchdog;
};

#endif
