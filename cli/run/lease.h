/* lease.h: a thread that renews a hold and reports to the guard until when it lasts. */
#ifndef BATON_CLI_RUN_LEASE_H
#define BATON_CLI_RUN_LEASE_H

#include "cli/client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { LEASE_TROUBLE = 1024 };

struct lease {
    struct client *client; /* used by this thread alone */
    char *path;
    const char *token, *name;
    bool is_watched; /* asks batond to report the end of the hold at once */
    const json_t *body;
    bool is_verbose, ignores_loss;
    int64_t ttl_ms;                /* of the latest answer */
    _Atomic int64_t held_until_ns; /* by --max-held, or by batond's max-held; or GUARD_NEVER */
    _Atomic int64_t expires_ns;    /* E of guard.h, by CLOCK_BOOTTIME */
    _Atomic int64_t renewed_ns; /* when the latest answered renewal was sent, by CLOCK_BOOTTIME */
    atomic_bool is_lost;        /* batond says so */
    atomic_bool has_reached_max_held; /* when it was lost: so it ended as planned */
    bool is_overdue_said;
    int orders;        /* the guard's; -1: there is none yet */
    timer_t waker;     /* the front's */
    int64_t margin_ns; /* how long before the end the kernel continues a stopped front */
    pthread_t thread;
    atomic_bool stops;
    pthread_mutex_t lock;        /* protects what follows */
    char trouble[LEASE_TROUBLE]; /* why it was not renewed; "" if it was */
};

/* Takes from a reply how long the hold lasts, even if that is shorter than before, and how long
 * renewals may carry it. Returns false for a reply without a hold. `sent_ns` is when the request
 * was sent. */
bool lease_take(struct lease *lease, const struct reply *reply, int64_t sent_ns);

/* Renews once, at once. Returns false if the lock is lost. */
bool lease_renew(struct lease *lease);

/* Copies why the lock was not renewed. Any thread. */
void lease_trouble(struct lease *lease, char trouble[LEASE_TROUBLE]);

/* When the command must be dead, by CLOCK_BOOTTIME. */
int64_t lease_end(const struct lease *lease);

/* Gives the guard the end, and the kernel the time to continue the front. */
void lease_order_end(const struct lease *lease);

/* Starts the thread. Returns 0, or a negative errno. */
int lease_start(struct lease *lease);

/* Ends the thread, and its request. */
void lease_stop(struct lease *lease);

#endif
