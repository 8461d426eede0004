#include "locks/locks.h"

#include "base/memory.h"
#include "base/random.h"
#include "locks/calls/engine.h"
#include "locks/calls/libraries.h"
#include "locks/calls/operation.h"
#include "locks/quarantine/guard.h"
#include "locks/store_events.h"
#include "locks/waiting/renewer.h"
#include "locks/watching/prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The name of this worker's inbox, where scripts put messages for its waiters: see
 * scripts/shared/07-servers.lua. */
static void listen_to_inbox(struct locks *locks)
{
    char channel[KEY_PREFIX_LENGTH + sizeof "inbox:" + WORKER_LENGTH];
    struct slice prefix = locks->options.key_prefix;
    snprintf(channel, sizeof channel, "%.*sinbox:%s", (int)prefix.length, prefix.bytes,
             locks->texts.worker);
    store_listen(locks->store, slice_of(channel));
}

/* The key has no braces, so watches of a prefix skip it. It ends with this worker's name, so no
 * other worker has it, even if the prefix is empty. */
static void expect_replicas(struct locks *locks)
{
    char key[KEY_PREFIX_LENGTH + sizeof "confirm:" + WORKER_LENGTH];
    struct slice prefix = locks->options.key_prefix;
    snprintf(key, sizeof key, "%.*sconfirm:%s", (int)prefix.length, prefix.bytes,
             locks->texts.worker);
    store_expect_replicas(locks->store, slice_of(key), (int)locks->options.replicas);
}

static void serve_shard(void *context, unsigned shard)
{
    struct locks *locks = context;
    const struct locks_events *events = &locks->options.events;
    if (events->serving)
        events->serving(events->context, shard);
    locks->engine->serve(locks, shard);
    renewers_check(locks);
}

static void replace_shard(void *context, unsigned shard)
{
    struct locks *locks = context;
    locks->engine->replaced(locks, shard);
    prefixes_lost(locks);
    renewers_check(locks);
}

/* With quarantines off, no grant waits for the end of an old primary's holds, so the store needs no
 * primary lease. */
static int open_store(struct locks *locks, const struct locks_options *options)
{
    const struct store_events events = store_events_of(locks);
    int result = store_open(&locks->store, options->loop, options->redis_url, &events);
    if (result == 0 && options->quarantine_ms != QUARANTINE_OFF)
        store_require_primary_lease(locks->store);
    return result;
}

static void open_guard(struct locks *locks, const struct locks_options *options)
{
    const struct guard_options guard = {
        .loop = options->loop,
        .key_prefix = locks->options.key_prefix,
        .process = locks->texts.worker,
        .retention_ms = options->retention_ms,
        .quarantine_ms = options->quarantine_ms,
        .replicas = options->replicas,
        .is_embedded = options->is_embedded,
        .keeps_all = options->keeps_all,
        .members_share_holds = locks->engine == &engine_quorum,
        .serve = serve_shard,
        .replaced = replace_shard,
        .context = locks,
        .quarantined = options->events.quarantined,
        .observer = options->events.context,
    };
    locks->guard = guard_open(locks->store, &guard);
}

static void name_worker(struct locks *locks, uint32_t process)
{
    uint32_t worker;
    random_bytes(&worker, sizeof worker);
    snprintf(locks->texts.worker, sizeof locks->texts.worker, "%08" PRIx32 "%08" PRIx32, process,
             worker);
}

static void take_options(struct locks *locks, const struct locks_options *options)
{
    struct slice *prefix = &locks->options.key_prefix;
    locks->options = *options;
    locks->options.redis_url = NULL;
    locks->loop = options->loop;
    memcpy(locks->texts.key_prefix, prefix->bytes, prefix->length);
    prefix->bytes = locks->texts.key_prefix;
    decimal_text(options->waiter_lease_ms, locks->texts.waiter_lease);
    decimal_text(options->claim_window_ms, locks->texts.claim_window);
    decimal_text(options->max_waiters, locks->texts.max_waiters);
}

static void locks_end(struct locks *locks)
{
    void (*closed)(void *context) = locks->closed;
    void *closed_context = locks->closed_context;
    guard_close(locks->guard);
    free(locks);
    if (closed)
        closed(closed_context);
}

int locks_open(struct locks **ret, const struct locks_options *options)
{
    struct locks *locks = memory_checked(calloc(1, sizeof *locks));
    locks->engine = options->redis_url->kind == REDIS_QUORUM ? &engine_quorum : &engine_central;
    locks->engine_closed = locks_end;
    name_worker(locks, options->process);
    take_options(locks, options);
    random_bytes(&locks->next_attempt, sizeof locks->next_attempt);
    int result = open_store(locks, options);
    if (result < 0) {
        free(locks);
        return result;
    }
    open_guard(locks, options);
    locks->engine->open(locks);
    libraries_open(locks, options->library_check_ms);
    expect_replicas(locks);
    listen_to_inbox(locks);
    *ret = locks;
    return 0;
}

/* All timers that use the store stop here: the loop may run them before their handles are closed.
 */
static void locks_on_store_closed(void *context)
{
    struct locks *locks = context;
    libraries_close(locks);
    locks->engine->close(locks);
}

void locks_close(struct locks *locks, void (*closed)(void *context), void *context)
{
    if (!locks)
        return;
    locks->closed = closed;
    locks->closed_context = context;
    store_close(locks->store, locks_on_store_closed, locks);
}
