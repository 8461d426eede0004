/* stage.h: a Redis, two replicas of Baton on ports that stay theirs, and haproxy and nginx in front
 * of them: what the chaos tests disturb. */
#ifndef BATON_TESTS_CHAOS_STAGE_H
#define BATON_TESTS_CHAOS_STAGE_H

#include "tests/chaos/line.h"
#include "tests/history/history.h"
#include "tests/support/batond_process.h"
#include "tests/support/front.h"
#include "tests/support/http.h"
#include "tests/support/redis_process.h"

enum { REPLICAS = 2, STAGE_FLAGS = 12 };

/* The ways to the service: straight to a replica, or by a proxy. */
enum way { TO_FIRST, TO_SECOND, BY_HAPROXY, BY_NGINX, WAYS };

enum { CLAIM_WINDOW_MS = 1000, WAITER_LEASE_MS = 5000, RETENTION_MS = 60000 };

struct stage_options {
    bool durable;    /* Redis keeps its data over a restart */
    bool redis_port; /* the replicas reach Redis over TCP */
    bool fronts;     /* haproxy and nginx */
    bool line;    /* the first replica reaches Redis over stage->line, and both proxies lead to it
                     alone */
    int workers;  /* of each replica; 0: 2 */
    int claim_ms; /* 0: CLAIM_WINDOW_MS */
    int drain_ms; /* 0: they stop at once */
};

struct stage {
    struct redis_process redis;
    struct line line;
    struct batond_process batond[REPLICAS];
    struct front front[2];
    int ports[WAYS];
    struct http_client *http[REPLICAS]; /* for the test's own thread; survive a restart */
    char flags_text[STAGE_FLAGS][40];
    const char *flags[STAGE_FLAGS + 1];
    struct batond_options options[REPLICAS];
    int claim_ms;
    uint64_t seed;
    uint64_t random;
};

/* Starts all of it and prints the seed: BATON_SEED, or a new one. `options` may be NULL.
 */
void stage_start(struct stage *stage, const struct stage_options *options);

/* Ends it. Fails the test where a replica did not end as it should. */
void stage_stop(struct stage *stage);

/* One replica: waits for its end, after a SIGTERM, and fails the test where it was not a good one;
 * SIGKILL; a new start on the same port; whether it serves. */
void stage_end(struct stage *stage, int replica);
void stage_kill(struct stage *stage, int replica);
void stage_launch(struct stage *stage, int replica);
bool stage_listens(struct stage *stage, int replica, int timeout_ms);

/* A number from 0 until before `below`, from the seed. */
unsigned stage_draw(struct stage *stage, unsigned below);

/* What the inspection of a name says: a number of its object, -1 where it is not there. Any replica
 * is asked, until one answers 200. */
int64_t stage_ask(struct stage *stage, int name, const char *member);

/* The same as a whole: the client that has the reply; NULL where no replica answers. */
struct http_client *stage_inspect(struct stage *stage, int name);

/* For a test that fails: prints what a name is like, and what the replicas said. */
void stage_print(struct stage *stage, int name);

/* Waits until the name has no hold and no waiter. Fails the test after `timeout_ms`. */
void stage_await_free(struct stage *stage, int name, int64_t timeout_ms);

/* That what is left in Redis goes away by itself in time, and no waiter is left in it. */
void stage_assert_no_leak(struct stage *stage);

/* A named amount of work: `normal`, or `quick` of it where QUICK is set to 1. */
int stage_amount(int normal, int quick);

#endif
