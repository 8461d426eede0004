/* The operations of locks.h that differ between the engines. */
#include "locks/calls/engine.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"
#include "locks/waiting/parked.h"

void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context)
{
    locks->engine->acquire(locks, acquire, done, context);
}

void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms)
{
    locks->engine->take_back(locks, name, token, attempt, keep_ms);
}

struct waiter *locks_wait(struct locks *locks, const struct acquire *acquire,
                          const struct acquirer *acquirer, locks_done *done)
{
    return locks->engine->wait(locks, acquire, acquirer, done);
}

void locks_abandon(struct waiter *waiter)
{
    struct parked *parked = (struct parked *)waiter;
    parked->give_up(parked);
}

struct watch *locks_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                          int64_t wait_ms, locks_done *done, void *context)
{
    return locks->engine->watch(locks, name, what, wait_ms, done, context);
}

void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 int64_t replicas, locks_done *done, void *context)
{
    const struct renewal renewal = {
        .name = name, .token = token, .ttl_ms = ttl_ms, .replicas = replicas};
    locks->engine->renew(locks, &renewal, done, context);
}

void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context)
{
    locks->engine->release(locks, name, token, NULL, done, context);
}

void locks_release_connection(struct locks *locks, struct slice name, struct slice token,
                              const struct attempt *attempt, locks_done *done, void *context)
{
    locks->engine->release(locks, name, token, attempt, done, context);
}

void locks_break(struct locks *locks, struct slice name, int64_t fence,
                 const struct breaker *breaker, locks_done *done, void *context)
{
    locks->engine->break_holds(locks, name, fence, breaker, done, context);
}

void locks_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                   locks_done *done, void *context)
{
    locks->engine->inspect(locks, name, token, waiters, done, context);
}

void locks_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context)
{
    locks->engine->ready(locks, replicas, done, context);
}

void locks_try_again(struct locks *locks)
{
    guard_refresh(locks->guard);
    locks->engine->try_again(locks);
}

bool locks_are_settled(const struct locks *locks)
{
    return locks->engine->are_settled(locks);
}

void locks_drain(struct locks *locks)
{
    locks->draining = true;
    locks->engine->drain(locks);
}

/* The store's state */

const struct store *locks_store(const struct locks *locks)
{
    return locks->store;
}

bool locks_has_store(const struct locks *locks)
{
    return store_is_up(locks->store);
}

const char *locks_primary(const struct locks *locks)
{
    return store_primary(locks->store);
}

const char *locks_trouble(const struct locks *locks)
{
    return store_trouble(locks->store);
}

uint64_t locks_damages(const struct locks *locks)
{
    return locks->damages;
}
