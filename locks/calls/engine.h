/* engine.h: the operations of locks.h that a worker's engine does in its own way: central, where
 * one Redis decides about a name (alone, with Sentinel, or as a node of a Cluster), or quorum,
 * where the majority of several independent ones does. Chosen once, when the locks are opened.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_ENGINE_H
#define BATON_LOCKS_CALLS_ENGINE_H

#include "locks/locks.h"

struct engine {
    /* As their namesakes of locks.h. */
    void (*acquire)(struct locks *locks, const struct acquire *acquire, locks_done *done,
                    void *context);
    struct waiter *(*wait)(struct locks *locks, const struct acquire *acquire,
                           const struct acquirer *acquirer, locks_done *done);
    void (*take_back)(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms);
    /* `by` is empty, or "server": then the client need not know of the hold yet, and it may still
     * be taken back. */
    void (*renew)(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                  int64_t replicas, struct slice by, locks_done *done, void *context);
    /* `attempt` is NULL, or that of a connection that has ended. */
    void (*release)(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context);
    void (*break_all)(struct locks *locks, struct slice name, locks_done *done, void *context);
    void (*inspect)(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                    locks_done *done, void *context);
    struct watch *(*watch)(struct locks *locks, struct slice name, struct slice token,
                           int64_t after, int64_t wait_ms, locks_done *done, void *context);
    void (*ready)(struct locks *locks, int64_t replicas, locks_done *done, void *context);
    void (*try_again)(struct locks *locks);
    bool (*are_settled)(const struct locks *locks);
    void (*drain)(struct locks *locks);

    /* A shard may be used; it has other data than before; names have moved to another
     * shard; the inbox listens; a message has come to it. */
    void (*serve)(struct locks *locks, unsigned shard);
    void (*replaced)(struct locks *locks, unsigned shard);
    void (*moved)(struct locks *locks);
    void (*listening)(struct locks *locks);
    void (*message)(struct locks *locks, struct slice text);

    /* `close` ends its handles on the loop, frees what it has, then calls `locks->engine_closed`.
     */
    void (*open)(struct locks *locks, const struct locks_options *options);
    void (*close)(struct locks *locks);

    /* Others were told, by messages that may be lost, what is due for this name in so many
     * milliseconds. NULL, and expiries are not told: each member of a quorum finds for itself what
     * has expired: nobody could say how often that is to be told, and nobody waits there. */
    void (*look_after)(struct locks *locks, struct slice key, int64_t in_ms);
};

extern const struct engine engine_central;
extern const struct engine engine_quorum;

#endif
