/* central.h: the operations of the engine in which one Redis decides about a name. struct engine
 * has their contract. Internal to locks/. */
#ifndef BATON_LOCKS_CENTRAL_CENTRAL_H
#define BATON_LOCKS_CENTRAL_CENTRAL_H

#include "locks/calls/renewal.h"
#include "locks/locks.h"

void central_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                     void *context);
void central_take_back(struct locks *locks, struct slice name, struct slice token,
                       const struct attempt *attempt, int64_t keep_ms);
void central_renew(struct locks *locks, const struct renewal *renewal, locks_done *done,
                   void *context);
void central_release(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, locks_done *done, void *context);
void central_break(struct locks *locks, struct slice name, int64_t fence,
                   const struct breaker *breaker, locks_done *done, void *context);
void central_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                     locks_done *done, void *context);
struct watch *central_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                            int64_t wait_ms, locks_done *done, void *context);
void central_message(struct locks *locks, unsigned shard, struct slice text);
void central_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);

extern const struct watched_kind central_watched;

#endif
