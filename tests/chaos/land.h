/* land.h: a primary, its replicas, the sentinels that watch them and two batonds, on hosts that can
 * be cut off from one another. */
#ifndef BATON_TESTS_CHAOS_LAND_H
#define BATON_TESTS_CHAOS_LAND_H

#include "tests/chaos/sides.h"
#include "tests/support/faults/hosts.h"
#include "tests/support/redis_process.h"

/* Each has a host of its own, in this order. */
enum {
    LAND_SERVERS = 3,
    LAND_SENTINELS = 3,
    LAND_HOSTS = LAND_SERVERS + LAND_SENTINELS + SIDES,
    LAND_DOWN_MS = 1000, /* after which the sentinels call a server down */
};

struct land_sentinel {
    struct process process;
    struct temp_dir dir;
    char socket[100];
};

struct land {
    struct hosts hosts;
    struct redis_process servers[LAND_SERVERS]; /* their `link` is not to be used */
    struct land_sentinel sentinels[LAND_SENTINELS];
    struct sides sides;
    char url[160];
};

struct land_options {
    const char *const *redis;  /* more arguments for the servers, NULL-terminated; may be NULL */
    const char *const *batond; /* flags, the same */
    const char *const *environment[LAND_SERVERS]; /* as process_start has it, which it outlives */
};

/* Starts all and waits until each knows all the others. Returns false where hosts are not
 * permitted; fails the test where it cannot. */
bool land_start(struct land *land, const struct land_options *options);

/* A batond's end must be as it should. */
void land_stop(struct land *land);

static inline int land_sentinel_host(int index)
{
    return LAND_SERVERS + index;
}

/* Which server is a primary whose replicas have caught up, and called so by all sentinels; both
 * batonds can use it. Waits for that; fails the test if it does not come. */
int land_await_peace(struct land *land);

/* Waits until most of the sentinels call another server than `old` the primary. Returns which. */
int land_await_other(struct land *land, int old);

/* Starts a server again after redis_process_kill. */
void land_resume(struct land *land, int server);

#endif
