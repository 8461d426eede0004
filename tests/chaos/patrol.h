/* patrol.h: clients of two batonds that go from name to name: they acquire, wait, renew, look and
 * release, and write down what they see. */
#ifndef BATON_TESTS_CHAOS_PATROL_H
#define BATON_TESTS_CHAOS_PATROL_H

#include "tests/history/record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATROL_SERVERS = 2 };

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
    int64_t slowest;    /* the longest time until a reply came, less the wait that was asked for */
    int64_t longest_failure; /* how long a client was answered nothing but 503 */
    int64_t longest_stall;   /* how long nobody was granted anything */
    int64_t longest_nap; /* how much too late somebody who only sleeps was woken: the machine's */
};

struct patrol_client;

struct patrol {
    struct patrol_plan plan;
    struct patrol_client *clients;
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

/* Lets them end what they have begun. Sets what they saw, to be freed. */
void patrol_stop(struct patrol *patrol, struct record *ret);

/* The counts so far; what is slowest and longest begins anew. */
struct patrol_counts patrol_look(struct patrol *patrol);

/* One line for people. */
void patrol_print(const char *what, const struct patrol_counts *counts);

#endif
