/* holders.h: clients that take locks all the time, hold, renew and release them, or forget to, and
 * write down what they see. */
#ifndef BATON_TESTS_CHAOS_HOLDERS_H
#define BATON_TESTS_CHAOS_HOLDERS_H

#include "tests/history/record.h"
#include "tests/support/faults/hosts.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    HOLDERS_MOST = 32,
    HOLDER_NAMES = 12,
    HOLDER_TTL_MS = 1000, /* of all holds, where nothing else is said */
    HOLDER_WAIT_MS = 300, /* of every other request; the others do not wait */
};

struct holders;

struct holder {
    struct holders *holders;
    int number;
    int host; /* -1: this one */
    char url[64];
    pthread_t thread;
    struct record record;
    int tokens; /* that it has used so far */
    uint64_t random;
    int64_t slowest_us;
};

struct holders {
    const struct hosts *hosts; /* NULL: all are on this one */
    int ttl_ms;                /* 0: HOLDER_TTL_MS */
    int count;
    struct holder holder[HOLDERS_MOST];
    atomic_bool stop;
    atomic_bool patient;                           /* now a batond may answer late, or not at all */
    atomic_size_t refusals, away, silent, strange; /* 409, 503, no reply, and anything else */
    int64_t slowest_us; /* until a reply came, with the wait, once they have ended */
};

/* Zeroed to begin with. Adds `count` clients of the batond at `url`, on a host. */
void holders_add(struct holders *holders, int count, int host, const char *url);

void holders_start(struct holders *holders);

/* Waits for their end; adds what they saw to the record. */
void holders_end(struct holders *holders, struct record *record);

#endif
