/* lease.h: a thread that renews a hold and tells the guard until when it lasts. */
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
    struct client *client; /* of this thread alone */
    char *path;
    const char *token, *name;
    bool is_watched; /* batond is asked to tell the end of the hold at once */
    const json_t *body;
    bool is_verbose, ignores_loss;
    int64_t ttl_ms;                   /* of the latest answer */
    _Atomic int64_t held_until_ns;    /* by --max-held, or batond's max-held; or GUARD_NEVER */
    _Atomic int64_t expires_ns;       /* E, by CLOCK_BOOTTIME */
    _Atomic int64_t renewed_ns;       /* when the latest renewal that was answered was sent */
    atomic_bool is_lost;              /* batond says so */
    atomic_bool has_reached_max_held; /* when it was lost: then it has ended as it was to */
    bool is_overdue_said;
    int orders;        /* of the guard; -1: there is none yet */
    timer_t waker;     /* of the front */
    int64_t margin_ns; /* before the end, the front is continued if it is stopped */
    pthread_t thread;
    atomic_bool stops;
    pthread_mutex_t lock;        /* of what follows */
    char trouble[LEASE_TROUBLE]; /* why it was not renewed; "" if it was, see lease_trouble */
};

/* Takes over from a reply how long the hold lasts, be that longer or shorter than known, and how
 * long renewals may carry it. Returns whether it did. `sent_ns` is when the request was sent. */
bool lease_take(struct lease *lease, const struct reply *reply, int64_t sent_ns);

/* Renews once, at once. Returns false if the lock is lost. */
bool lease_renew(struct lease *lease);

/* Copies why the lock was not renewed. Of any thread. */
void lease_trouble(struct lease *lease, char trouble[LEASE_TROUBLE]);

/* When the command has to be dead. */
int64_t lease_end(const struct lease *lease);

/* Tells the guard the end, and the kernel when to continue the front. */
void lease_order_end(const struct lease *lease);

/* Starts the thread. Returns 0, or a negative errno. */
int lease_start(struct lease *lease);

/* Ends the thread, and its request. */
void lease_stop(struct lease *lease);

#endif
