#include "locks/calls/redelivery.h"

#include "base/memory.h"
#include "locks/calls/state.h"

#include <assert.h>
#include <limits.h>

enum {
    ARGUMENTS_MOST = 8,
    TRIES_MOST = 3, /* after this many failures it will not succeed */
};

#define BY_KEY UINT_MAX /* instead of a shard */

struct redelivery {
    LIST_ENTRY(redelivery) others;
    struct locks *locks;
    unsigned shard;
    const struct script *script;
    uint64_t until; /* loop time, ms */
    bool is_sent;   /* sent, and not yet answered */
    unsigned tries; /* tries that ended with an error and an unknown outcome */
    size_t key_length;
    size_t count;
    size_t lengths[ARGUMENTS_MOST];
    char bytes[]; /* the key and the arguments, one after the other */
};

static struct slice redelivery_key(const struct redelivery *redelivery)
{
    return (struct slice){redelivery->bytes, redelivery->key_length};
}

static void redelivery_forget(struct redelivery *redelivery)
{
    LIST_REMOVE(redelivery, others);
    redelivery->locks->redeliveries.count--;
    free(redelivery);
}

static bool redelivery_can_be_sent(const struct redelivery *redelivery)
{
    const struct store *store = redelivery->locks->store;
    return store_shard_is_up(store, redelivery->shard == BY_KEY
                                        ? store_shard(store, redelivery_key(redelivery))
                                        : redelivery->shard);
}

/* If Redis refused the script or was lost, sends it again. Gives up a script that fails by itself,
 * for instance on a key that is not Baton's: it must not stay here for ever. */
static void redelivery_answered(void *context, const struct store_result *result)
{
    struct redelivery *redelivery = context;
    redelivery->is_sent = false;
    if (result->outcome == STORE_IN_DOUBT && redelivery_can_be_sent(redelivery))
        redelivery->tries++;
    if (result->outcome == STORE_REPLIED || redelivery->tries == TRIES_MOST)
        redelivery_forget(redelivery);
}

static void redelivery_send(struct redelivery *redelivery)
{
    struct slice arguments[ARGUMENTS_MOST];
    const char *bytes = redelivery->bytes + redelivery->key_length;
    for (size_t i = 0; i < redelivery->count; bytes += redelivery->lengths[i++])
        arguments[i] = (struct slice){bytes, redelivery->lengths[i]};
    redelivery->is_sent = true;
    const struct script_call call = {
        .script = redelivery->script,
        .key = redelivery_key(redelivery),
        .arguments = arguments,
        .argument_count = redelivery->count,
        .done = redelivery_answered,
        .context = redelivery,
    };
    if (redelivery->shard == BY_KEY)
        store_eval(redelivery->locks->store, &call);
    else
        store_eval_at(redelivery->locks->store, redelivery->shard, &call);
}

static struct redelivery *redelivery_new(const struct script_call *call)
{
    size_t length = call->key.length;
    assert(call->argument_count <= ARGUMENTS_MOST);
    for (size_t i = 0; i < call->argument_count; i++)
        length += call->arguments[i].length;
    struct redelivery *redelivery = memory_checked(calloc(1, sizeof *redelivery + length));
    redelivery->script = call->script;
    redelivery->key_length = call->key.length;
    redelivery->count = call->argument_count;
    char *end = mempcpy(redelivery->bytes, call->key.bytes, call->key.length);
    for (size_t i = 0; i < call->argument_count; i++) {
        const struct slice *argument = &call->arguments[i];
        redelivery->lengths[i] = argument->length;
        if (argument->length > 0)
            end = mempcpy(end, argument->bytes, argument->length);
    }
    return redelivery;
}

void redelivery_add_at(struct locks *locks, unsigned shard, const struct script_call *call,
                       int64_t useful_ms)
{
    struct redeliveries *redeliveries = &locks->redeliveries;
    if (shard != BY_KEY && redeliveries->count >= REDELIVERIES_MOST) {
        if (store_shard_is_up(locks->store, shard))
            store_eval_at(locks->store, shard, call);
        return;
    }
    struct redelivery *redelivery = redelivery_new(call);
    redelivery->locks = locks;
    redelivery->shard = shard;
    redelivery->until = uv_now(locks->loop) + (uint64_t)useful_ms;
    LIST_INSERT_HEAD(&redeliveries->list, redelivery, others);
    redeliveries->count++;
    if (redelivery_can_be_sent(redelivery))
        redelivery_send(redelivery);
}

void redelivery_add(struct locks *locks, const struct script_call *call, int64_t useful_ms)
{
    redelivery_add_at(locks, BY_KEY, call, useful_ms);
}

void redeliveries_send(struct locks *locks)
{
    struct redelivery *redelivery = LIST_FIRST(&locks->redeliveries.list), *next;
    for (; redelivery; redelivery = next) {
        next = LIST_NEXT(redelivery, others);
        if (redelivery->is_sent)
            continue;
        if (redelivery->until <= uv_now(locks->loop))
            redelivery_forget(redelivery);
        else if (redelivery_can_be_sent(redelivery))
            redelivery_send(redelivery);
    }
}

bool redeliveries_are_settled(const struct locks *locks)
{
    const struct redelivery *redelivery = LIST_FIRST(&locks->redeliveries.list);
    for (; redelivery; redelivery = LIST_NEXT(redelivery, others))
        if (redelivery->shard == BY_KEY || redelivery_can_be_sent(redelivery))
            return false;
    return true;
}

void redeliveries_free(struct locks *locks)
{
    struct redelivery *redelivery = LIST_FIRST(&locks->redeliveries.list), *next;
    for (; redelivery; redelivery = next) {
        next = LIST_NEXT(redelivery, others);
        free(redelivery);
    }
}
