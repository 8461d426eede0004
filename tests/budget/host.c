#include "tests/budget/host.h"

#include "locks/calls/operation.h"
#include "locks/quarantine/shard.h"
#include "tests/budget/counts.h"

#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 1000, HOUR_MS = 3600 * 1000, PROCESS = 1 };

static const struct networks NOBODY = {NULL, 0};

static void on_up(void *context, unsigned shard)
{
    struct host *host = context;
    (void)shard;
    host->is_up = true;
}

static void on_listening(void *context, unsigned shard)
{
    struct host *host = context;
    (void)shard;
    host->is_listening = true;
}

/* Time stands still here, but not for Redis: a call may run at any time, the second number of its
 * stamp, or the clock would seem to have jumped. */
static void on_stamp(void *context, unsigned shard, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    static const double ANY_TIME = INFINITY;
    (void)context, (void)shard, (void)now;
    memcpy(stamp + sizeof ANY_TIME, &ANY_TIME, sizeof ANY_TIME);
}

static void on_answered(void *context, uint64_t nanoseconds)
{
    metrics_redis_took(&((struct host *)context)->metrics, nanoseconds);
}

static void open_locks(struct host *host, const char *redis_url)
{
    struct redis_url url;
    struct failure failure;
    if (redis_url_parse(redis_url, &url, &failure) < 0)
        abort();
    const struct locks_options options = {
        .loop = host->loop,
        .redis_url = &url,
        .key_prefix = slice_of("baton:"),
        .retention_ms = HOUR_MS,
        .waiter_lease_ms = 10000,
        .claim_window_ms = 2000,
        .max_waiters = 100000,
        .quarantine_ms = QUARANTINE_AUTO,
        .process = PROCESS,
        .events.store = {.observer = {.context = host, .answered = on_answered},
                         .context = host,
                         .up = on_up,
                         .listening = on_listening,
                         .stamp = on_stamp}};
    if (locks_open(&host->locks, &options) < 0)
        abort();
    redis_url_free(&url);
}

static void open_api(struct host *host)
{
    contention_open(&host->contention, 1);
    host->lock_observers = (struct lock_observers){
        .metrics = &host->metrics, .log = &host->log, .contention = host->contention.parts[0]};
    host->api = (struct api){.locks = host->locks,
                             .principals = principals_anonymous(),
                             .hold_counter = &host->hold_counter,
                             .contention = &host->contention,
                             .default_ttl_ms = 30000,
                             .max_ttl_ms = 24 * HOUR_MS,
                             .max_wait_ms = 60000,
                             .on_lock_event = lock_observers_notify,
                             .lock_event_context = &host->lock_observers};
}

static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&place, length) < 0 || listen(fd, CONNECTIONS) < 0 ||
        getsockname(fd, (struct sockaddr *)&place, &length) < 0)
        abort();
    *ret_port = ntohs(place.sin_port);
    return fd;
}

static void open_http(struct host *host)
{
    host->log = (struct log){.fd = -1, .level = LOG_ERROR};
    host->connection_limits = connection_limits_new(CONNECTIONS, CONNECTIONS, &NOBODY);
    const struct http_options options = {.listen_fd = listen_somewhere(&host->port),
                                         .api = &host->api,
                                         .metrics = &host->metrics,
                                         .log = &host->log,
                                         .connection_limits = host->connection_limits,
                                         .head_timeout_ms = 10000,
                                         .body_timeout_ms = 10000,
                                         .idle_timeout_ms = 75000};
    if (http_open(&host->http, host->loop, &options) < 0)
        abort();
    http_serve(host->http);
}

static void on_turned(uv_check_t *turned)
{
    uv_stop(turned->loop);
}

void host_open(struct host *host, uv_loop_t *loop, const char *redis_url)
{
    *host = (struct host){.loop = loop};
    uv_check_init(loop, &host->turned);
    uv_check_start(&host->turned, on_turned);
    hold_counter_begin(&host->hold_counter);
    open_locks(host, redis_url);
    open_api(host);
    open_http(host);
    while (!host->is_up || !host->is_listening)
        host_turn(host);
}

void host_expect_time_to_pass(struct host *host)
{
    static const int64_t HOUR_US = 3600 * INT64_C(1000000);
    const struct guard *guard = host->locks->guard;
    for (unsigned i = 0; i < guard->count; i++)
        guard->shards[i]->clock.now.high += HOUR_US;
}

/* UV_RUN_ONCE would be another loop than a worker's: it does not sleep where that one does. */
void host_turn(struct host *host)
{
    uv_run(host->loop, UV_RUN_DEFAULT);
}

bool host_rests(const struct host *host)
{
    struct pollfd events = {.fd = uv_backend_fd(host->loop), .events = POLLIN};
    if (uv_backend_timeout(host->loop) == 0)
        return false;
    counts.system_calls++;
    return poll(&events, 1, 0) == 0;
}

int host_connect(const struct host *host)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)host->port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&place, sizeof place) < 0)
        abort();
    return fd;
}
