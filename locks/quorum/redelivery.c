#include "locks/quorum/redelivery.h"

#include "base/memory.h"
#include "locks/calls/operation.h"

#include <assert.h>

enum {
    ARGUMENTS_MOST = 8,
    TRIES_MOST = 3, /* a script that failed this often will not succeed */
};

struct redelivery {
    struct redelivery *next;
    struct redelivery **place; /* what points to this one */
    struct locks *locks;
    struct redeliveries *redeliveries;
    unsigned member;
    const struct script *script;
    uint64_t until; /* loop time, ms */
    bool asked;
    unsigned tries; /* that ended with an error, with an unknown outcome */
    size_t key_length;
    size_t count;
    size_t lengths[ARGUMENTS_MOST];
    char bytes[]; /* the key and the arguments, one after the other */
};

static void forget(struct redelivery *redelivery)
{
    *redelivery->place = redelivery->next;
    if (redelivery->next)
        redelivery->next->place = redelivery->place;
    redelivery->redeliveries->count--;
    free(redelivery);
}

void redeliveries_free(struct redeliveries *redeliveries)
{
    while (redeliveries->first) {
        struct redelivery *redelivery = redeliveries->first;
        redeliveries->first = redelivery->next;
        free(redelivery);
    }
}

static bool is_up(const struct redelivery *redelivery)
{
    return store_shard_is_up(redelivery->locks->store, redelivery->member);
}

static void answered(void *context, const struct store_result *result)
{
    struct redelivery *redelivery = context;
    redelivery->asked = false;
    if (result->outcome == STORE_IN_DOUBT && is_up(redelivery))
        redelivery->tries++;
    if (result->outcome == STORE_REPLIED || redelivery->tries == TRIES_MOST)
        forget(redelivery);
}

static void ask(struct redelivery *redelivery)
{
    struct slice arguments[ARGUMENTS_MOST];
    const char *bytes = redelivery->bytes + redelivery->key_length;
    for (size_t i = 0; i < redelivery->count; bytes += redelivery->lengths[i++])
        arguments[i] = (struct slice){bytes, redelivery->lengths[i]};
    redelivery->asked = true;
    const struct script_call call = {
        .script = redelivery->script,
        .key = (struct slice){redelivery->bytes, redelivery->key_length},
        .arguments = arguments,
        .argument_count = redelivery->count,
        .done = answered,
        .context = redelivery,
    };
    script_call_send_at(redelivery->locks, redelivery->member, &call);
}

static struct redelivery *redelivery_new(const struct script *script, struct slice key,
                                         const struct slice *arguments, size_t count)
{
    size_t length = key.length;
    assert(count <= ARGUMENTS_MOST);
    for (size_t i = 0; i < count; i++)
        length += arguments[i].length;
    struct redelivery *redelivery = memory_checked(calloc(1, sizeof *redelivery + length));
    redelivery->script = script;
    redelivery->key_length = key.length;
    redelivery->count = count;
    memcpy(redelivery->bytes, key.bytes, key.length);
    char *end = redelivery->bytes + key.length;
    for (size_t i = 0; i < count; i++) {
        redelivery->lengths[i] = arguments[i].length;
        if (arguments[i].length > 0)
            memcpy(end, arguments[i].bytes, arguments[i].length);
        end += arguments[i].length;
    }
    return redelivery;
}

static void said(void *context, const struct store_result *result)
{
    (void)context, (void)result;
}

void redelivery_add(struct locks *locks, struct redeliveries *redeliveries, unsigned member,
                    const struct script *script, struct slice key, const struct slice *arguments,
                    size_t argument_count, int64_t useful_ms)
{
    if (redeliveries->count >= REDELIVERIES_MOST) {
        const struct script_call call = {
            .script = script,
            .key = key,
            .arguments = arguments,
            .argument_count = argument_count,
            .done = said,
        };
        script_call_send_at(locks, member, &call);
        return;
    }
    struct redelivery *redelivery = redelivery_new(script, key, arguments, argument_count);
    redelivery->locks = locks;
    redelivery->redeliveries = redeliveries;
    redelivery->member = member;
    redelivery->until = uv_now(locks->loop) + (uint64_t)useful_ms;
    redelivery->next = redeliveries->first;
    redelivery->place = &redeliveries->first;
    if (redelivery->next)
        redelivery->next->place = &redelivery->next;
    redeliveries->first = redelivery;
    redeliveries->count++;
    if (is_up(redelivery))
        ask(redelivery);
}

void redeliveries_send(struct locks *locks, struct redeliveries *redeliveries, unsigned member)
{
    (void)locks;
    for (struct redelivery *redelivery = redeliveries->first; redelivery;
         redelivery = redelivery->next)
        if (redelivery->member == member && !redelivery->asked)
            ask(redelivery);
}

void redeliveries_try_again(struct locks *locks, struct redeliveries *redeliveries)
{
    uint64_t now = uv_now(locks->loop);
    for (struct redelivery *redelivery = redeliveries->first, *next; redelivery;
         redelivery = next) {
        next = redelivery->next;
        if (redelivery->asked)
            continue;
        if (redelivery->until <= now)
            forget(redelivery);
        else if (is_up(redelivery))
            ask(redelivery);
    }
}

bool redeliveries_are_settled(const struct locks *locks, const struct redeliveries *redeliveries)
{
    (void)locks;
    for (const struct redelivery *redelivery = redeliveries->first; redelivery;
         redelivery = redelivery->next)
        if (is_up(redelivery))
            return false;
    return true;
}
