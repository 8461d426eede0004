/* host.h: all of batond that serves requests, in a thread that lets it go on turn by turn. */
#ifndef BATON_TESTS_BUDGET_HOST_H
#define BATON_TESTS_BUDGET_HOST_H

#include "api/principals/principals.h"
#include "api/stats/contention.h"
#include "api/stats/hold_counter.h"
#include "server/http/http.h"
#include "server/process/lock_observers.h"

/* What a worker is made of: HTTP, API, locks and the connections to Redis, as in
 * server/process/worker.c.
 */
struct host {
    uv_loop_t *loop; /* several may share it */
    struct locks *locks;
    struct api api;
    struct http *http;
    struct connection_limits *connection_limits;
    struct hold_counter hold_counter;
    struct contention contention;
    struct metrics metrics;
    struct lock_observers lock_observers;
    struct log log; /* of requests and holds; silent to begin with */
    int port;       /* on 127.0.0.1 */
    uv_check_t turned;
    bool is_up, is_listening;
};

/* Connects to the Redis at this URL and serves on a free port. It is there until the process ends.
 */
void host_open(struct host *host, uv_loop_t *loop, const char *redis_url);

/* Redis' clock goes on while time stands still here: what Redis numbers by it would seem to run
 * ahead. Within an hour from here on it does not. */
void host_expect_time_to_pass(struct host *host);

/* A turn of the loop, which waits until something happens. */
void host_turn(struct host *host);

/* Whether a turn would have to wait. */
bool host_rests(const struct host *host);

/* The client's end of a connection. */
int host_connect(const struct host *host);

#endif
