/* patrol.h: clients of two batonds that go from name to name: they acquire, wait, renew, look and
 * release, and count what must not be. */
#ifndef BATON_TESTS_CHAOS_PATROL_H
#define BATON_TESTS_CHAOS_PATROL_H

#include "tests/history/history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATROL_SERVERS = 2, PATROL_NAMES_MOST = 400, PATROL_CLIENTS_MOST = 64 };

struct patrol_plan {
    const char *urls[PATROL_SERVERS]; /* half of the clients each */
    uint64_t seed;
    int clients;
    int names; /* the first tenth of them is asked for as often as all the others together */
    int64_t ttl_ms;
};

/* What the clients saw. Times are milliseconds by the monotonic clock. */
struct patrol_counts {
    size_t grants, renewals, releases;
    size_t refusals;    /* 409 of who asks */
    size_t failed;      /* 503, each repeated until another reply came; */
    size_t quarantined; /* so many of them since locks may have been lost */
    size_t silent;      /* no reply at all */
    size_t strange;     /* any other status */
    size_t lost; /* holds that were gone before their TTL was over, though nobody released them */
    size_t doubles;  /* grants while others counted on holds that do not go together with them */
    size_t backward; /* fences no greater than one that was known before the lock was asked for */
    int64_t slowest; /* the longest time until a reply came, less the wait that was asked for */
    int64_t longest_failure; /* how long a client was answered nothing but 503 */
    int64_t longest_stall;   /* how long nobody was granted anything */
    int64_t longest_nap; /* how much too late somebody who only sleeps was woken: the machine's */
};

/* How clients count on a name now. */
struct patrol_name {
    int exclusive, shared;
    int64_t until; /* by when all of it is over */
    int64_t fence; /* the greatest that was told */
};

struct patrol_client;

struct patrol {
    struct patrol_plan plan;
    struct patrol_client *clients;
    struct patrol_name names[PATROL_NAMES_MOST];
    struct patrol_counts counts;
    int64_t last_grant;
    int shown;
    pthread_mutex_t lock;
    pthread_t watchman;
    atomic_bool stop;
};

/* The path of a name, and the key whose slot all that belongs to it lives in. */
void patrol_path(int name, char *path, size_t size);
void patrol_key(int name, char *key, size_t size);

/* Starts the clients, a thread each. The patrol stays where it is. */
void patrol_start(struct patrol *patrol, const struct patrol_plan *plan);

/* Lets them end what they have begun. Returns what they saw, to be freed, and its length. */
struct event *patrol_stop(struct patrol *patrol, size_t *ret_count);

/* The counts so far; what is slowest and longest begins anew. */
struct patrol_counts patrol_look(struct patrol *patrol);

/* One line for people. */
void patrol_print(const char *what, const struct patrol_counts *counts);

#endif
