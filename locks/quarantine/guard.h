/* guard.h: the quarantine: prevents grants while Redis may have lost holds that still run. Internal
 * to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_GUARD_H
#define BATON_LOCKS_QUARANTINE_GUARD_H

#include "locks/quarantine/quarantine.h"
#include "locks/types/name.h"
#include "redis/store.h"

#include <uv.h>

/* The guard of one store, for one worker. A shard is an independent primary behind the store. Each
 * shard has an epoch in Redis beside the locks (scripts/epoch.lua):
 *
 * - a random id of its data, and the run id of the node that has it;
 * - the span: the longest TTL reported to a client in this window and in the one before. A worker
 *   raises it before it reports a longer TTL to a client;
 * - until when nothing is granted.
 *
 * The guard reads the epoch on each new connection before any other call, and then every second. If
 * another run of the node answers, if the epoch is gone or has another id, or if the clock has
 * jumped, nothing is granted for the span and some seconds. The worker that notices first writes a
 * new epoch. The others follow it, and make the quarantine longer if they remember a longer span. A
 * worker counts the longest span that it remembers of any shard; no shard is asked about another.
 *
 * "Our time" is this process' monotonic clock, "Redis' time" the clock of the shard's node; both in
 * microseconds. Use it on the thread of the store's loop alone. */
struct guard;

struct guard_options {
    uv_loop_t *loop;
    struct slice key_prefix; /* outlives the guard */
    const char *process;     /* PROCESS_LENGTH characters that identify this process to others */
    int64_t retention_ms;    /* how long a free name is remembered */
    int64_t quarantine_ms;   /* how long a quarantine is, or QUARANTINE_AUTO, _OFF */
    int64_t replicas;        /* how many replicas confirm each grant, at least */
    bool is_embedded;        /* batond's own Redis: all that it ever answered is on disk */
    bool keeps_all;          /* the operator says the same of another Redis */
    /* The shards are the members of a quorum: each has every hold, and numbers grow by all clocks.
     * Otherwise each name is on one shard. */
    bool members_share_holds;
    void *context;                                   /* of the next two */
    void (*serve)(void *context, unsigned shard);    /* its epoch was read: it may be used */
    void (*replaced)(void *context, unsigned shard); /* its data has changed: names may be gone */
    void *observer;                                  /* the context of `quarantined` */
    /* As in struct locks_events; may be NULL. */
    void (*quarantined)(void *observer, const struct quarantine *quarantine);
};

/* The store outlives the guard. */
struct guard *guard_open(struct store *store, const struct guard_options *options);

/* Call this when the store is closed. Takes NULL. */
void guard_close(struct guard *guard);

/* Events of the store: `stamp`, `up` and `migrated`. */
void guard_stamp(const struct guard *guard, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH]);
void guard_connected(struct guard *guard, unsigned number);
void guard_migrated(struct guard *guard, unsigned to, unsigned from);

/* Call this every second: reads all epochs, and ends the quarantines whose time is over. */
void guard_refresh(struct guard *guard);

/* A script came too late, as its `error` says: Redis was slow, or its clock has jumped. */
void guard_late(struct guard *guard, unsigned number, const char *error);

/* A script granted nothing because of a quarantine. If this worker knows of none, Redis has lost
 * its data since the last reading of the epoch, and the guard reads it now. */
void guard_refused(struct guard *guard);

/* Call this with each number (fence or version) before a client gets it, and before Redis answers
 * anything else. If the clock went back while no batond was running, the number may be ahead of
 * what the guard knows. Then all numbers go on from it, and the epoch says so. */
void guard_observe_number(struct guard *guard, int64_t number);

/* At least every number that any shard has given; 0: no clock is known. */
int64_t guard_latest_number(const struct guard *guard);

/* At least every number that any shard has given and then lost. */
int64_t guard_lost_number(const struct guard *guard);

/* A hold was just granted or renewed, and its client is about to get it. Returns whether the epoch
 * covers it. If not, the guard is raising the span of the epoch. */
bool guard_covers(struct guard *guard, unsigned number, int64_t ttl_ms);

/* The epoch has the span. With an `error`, a text for clients, it is not known whether Redis has
 * it, or the epoch is not known yet. */
typedef void guard_covered(void *context, const char *error);

/* Call this right after guard_covers has returned false. `done` runs once, from the loop and never
 * before this has returned. */
void guard_await(struct guard *guard, unsigned number, guard_covered *done, void *context);

/* Raises the span of a shard before batond asks for a hold. No answer waits for that. */
void guard_raise(struct guard *guard, unsigned number, int64_t ttl_ms);

/* Writes the key of the epoch. In a Cluster it has the `tag` of store_first_tag. */
struct slice guard_epoch_key(const struct guard *guard, const char *tag, char text[KEY_LENGTH]);

#endif
