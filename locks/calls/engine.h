/* engine.h: the table of operations that the two engines do differently. In the central engine one
 * Redis decides about a name: a single one, a primary with Sentinel, or a node of a Cluster. In the
 * quorum engine the majority of several independent Redis decides. locks_open chooses once.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_ENGINE_H
#define BATON_LOCKS_CALLS_ENGINE_H

#include "locks/calls/renewal.h"
#include "locks/locks.h"

struct engine {
    /* As their namesakes of locks.h. */
    void (*acquire)(struct locks *locks, const struct acquire *acquire, locks_done *done,
                    void *context);
    struct waiter *(*wait)(struct locks *locks, const struct acquire *acquire,
                           const struct acquirer *acquirer, locks_done *done);
    void (*take_back)(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms);
    void (*renew)(struct locks *locks, const struct renewal *renewal, locks_done *done,
                  void *context);
    /* `attempt` is NULL, or that of a connection that has ended. */
    void (*release)(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context);
    void (*break_holds)(struct locks *locks, struct slice name, int64_t fence,
                        const struct breaker *breaker, locks_done *done, void *context);
    void (*inspect)(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                    locks_done *done, void *context);
    struct watch *(*watch)(struct locks *locks, struct slice name, const struct watch_for *what,
                           int64_t wait_ms, locks_done *done, void *context);
    void (*ready)(struct locks *locks, int64_t replicas, locks_done *done, void *context);
    void (*try_again)(struct locks *locks);
    bool (*are_settled)(const struct locks *locks);
    void (*drain)(struct locks *locks);

    void (*serve)(struct locks *locks, unsigned shard);    /* the shard may be used */
    void (*replaced)(struct locks *locks, unsigned shard); /* its data is no longer what it was */
    void (*moved)(struct locks *locks);                    /* names have gone to another shard */
    void (*listening)(struct locks *locks);                /* the inbox gets messages now */
    void (*message)(struct locks *locks, unsigned shard, struct slice text); /* one has come */

    /* `close` closes the engine's handles, frees its state, then calls `locks->engine_closed`. */
    void (*open)(struct locks *locks);
    void (*close)(struct locks *locks);

    /* Another worker must act on this name within `in_ms`, and the message that says so may be
     * lost: supervises the name. NULL for the quorum engine, since members have no queue. That
     * engine reports no expiries either, since each member finds the same expired hold. */
    void (*supervise)(struct locks *locks, struct slice key, int64_t in_ms);
};

extern const struct engine engine_central;
extern const struct engine engine_quorum;

#endif
