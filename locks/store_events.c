#include "locks/store_events.h"

#include "locks/calls/engine.h"
#include "locks/calls/rights.h"
#include "locks/calls/script_answer.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"
#include "locks/waiting/renewer.h"
#include "locks/watching/prefix.h"

/* Asks the shard about rights and for its epoch, then takes back what is in doubt there. */
static void locks_on_up(void *context, unsigned shard)
{
    struct locks *locks = context;
    const struct store_events *observer = &locks->options.events.store;
    rights_ask(locks, shard);
    guard_connected(locks->guard, shard);
    if (observer->up)
        observer->up(observer->context, shard);
}

static void locks_on_moved(void *context)
{
    struct locks *locks = context;
    const struct store_events *observer = &locks->options.events.store;
    locks->engine->moved(locks);
    if (observer->moved)
        observer->moved(observer->context);
}

static void locks_on_migrated(void *context, unsigned to, unsigned from)
{
    guard_migrated(((struct locks *)context)->guard, to, from);
}

/* Checks every waiter, watch and hold of a connection again. */
static void locks_on_listening(void *context, unsigned shard)
{
    struct locks *locks = context;
    const struct store_events *observer = &locks->options.events.store;
    locks->engine->listening(locks);
    renewers_check(locks);
    if (observer->listening)
        observer->listening(observer->context, shard);
}

static void locks_on_message(void *context, unsigned shard, struct slice text)
{
    struct locks *locks = context;
    const struct store_events *observer = &locks->options.events.store;
    locks->engine->message(locks, shard, text);
    if (observer->message)
        observer->message(observer->context, shard, text);
}

static void locks_on_invalidated(void *context, struct slice key)
{
    prefixes_invalidate(context, key);
}

static void locks_on_stamp(void *context, unsigned shard, uint64_t now,
                           char stamp[STORE_STAMP_LENGTH])
{
    struct locks *locks = context;
    const struct store_events *observer = &locks->options.events.store;
    guard_stamp(locks->guard, shard, now, stamp);
    if (observer->stamp)
        observer->stamp(observer->context, shard, now, stamp);
}

struct store_events store_events_of(struct locks *locks)
{
    return (struct store_events){.observer = locks->options.events.store.observer,
                                 .context = locks,
                                 .up = locks_on_up,
                                 .moved = locks_on_moved,
                                 .migrated = locks_on_migrated,
                                 .listening = locks_on_listening,
                                 .message = locks_on_message,
                                 .invalidated = locks_on_invalidated,
                                 .result = script_answer_take,
                                 .stamp = locks_on_stamp};
}
