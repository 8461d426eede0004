#include "locks/quorum/errand.h"

#include "locks/calls/operation.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ARGUMENTS_MOST = 8,
    TRIES_MOST = 3, /* a script that failed so often is not cured by trying again */
};

struct errand {
    struct errand *next;
    struct errand **place; /* what points to this one */
    struct locks *locks;
    struct errands *errands;
    unsigned member;
    const struct script *script;
    uint64_t until; /* loop time, ms */
    bool asked;
    unsigned tries; /* that ended with an error of which nobody knows what it left behind */
    size_t key_length;
    size_t count;
    size_t lengths[ARGUMENTS_MOST];
    char bytes[]; /* the key and the arguments, one after the other */
};

static void forget(struct errand *errand)
{
    *errand->place = errand->next;
    if (errand->next)
        errand->next->place = errand->place;
    errand->errands->count--;
    free(errand);
}

void errands_free(struct errands *errands)
{
    while (errands->first) {
        struct errand *errand = errands->first;
        errands->first = errand->next;
        free(errand);
    }
}

static bool is_up(const struct errand *errand)
{
    return store_part_is_up(errand->locks->store, errand->member);
}

static void answered(void *context, const struct store_result *result)
{
    struct errand *errand = context;
    errand->asked = false;
    if (result->outcome == STORE_IN_DOUBT && is_up(errand))
        errand->tries++;
    if (result->outcome == STORE_REPLIED || errand->tries == TRIES_MOST)
        forget(errand);
}

static void ask(struct errand *errand)
{
    struct slice arguments[ARGUMENTS_MOST];
    const char *bytes = errand->bytes + errand->key_length;
    for (size_t i = 0; i < errand->count; bytes += errand->lengths[i++])
        arguments[i] = (struct slice){bytes, errand->lengths[i]};
    errand->asked = true;
    const struct script_call call = {
        .script = errand->script,
        .key = (struct slice){errand->bytes, errand->key_length},
        .arguments = arguments,
        .argument_count = errand->count,
        .done = answered,
        .context = errand,
    };
    ask_redis_at(errand->locks, errand->member, &call);
}

static struct errand *errand_new(const struct script *script, struct slice key,
                                 const struct slice *arguments, size_t count)
{
    size_t length = key.length;
    assert(count <= ARGUMENTS_MOST);
    for (size_t i = 0; i < count; i++)
        length += arguments[i].length;
    struct errand *errand = calloc(1, sizeof *errand + length);
    if (!errand)
        abort();
    errand->script = script;
    errand->key_length = key.length;
    errand->count = count;
    memcpy(errand->bytes, key.bytes, key.length);
    char *end = errand->bytes + key.length;
    for (size_t i = 0; i < count; i++) {
        errand->lengths[i] = arguments[i].length;
        if (arguments[i].length > 0)
            memcpy(end, arguments[i].bytes, arguments[i].length);
        end += arguments[i].length;
    }
    return errand;
}

static void said(void *context, const struct store_result *result)
{
    (void)context, (void)result;
}

void errand_add(struct locks *locks, struct errands *errands, unsigned member,
                const struct script *script, struct slice key, const struct slice *arguments,
                size_t argument_count, int64_t useful_ms)
{
    if (errands->count >= ERRANDS_MOST) {
        const struct script_call call = {
            .script = script,
            .key = key,
            .arguments = arguments,
            .argument_count = argument_count,
            .done = said,
        };
        ask_redis_at(locks, member, &call);
        return;
    }
    struct errand *errand = errand_new(script, key, arguments, argument_count);
    errand->locks = locks;
    errand->errands = errands;
    errand->member = member;
    errand->until = uv_now(locks->loop) + (uint64_t)useful_ms;
    errand->next = errands->first;
    errand->place = &errands->first;
    if (errand->next)
        errand->next->place = &errand->next;
    errands->first = errand;
    errands->count++;
    if (is_up(errand))
        ask(errand);
}

void errands_go(struct locks *locks, struct errands *errands, unsigned member)
{
    (void)locks;
    for (struct errand *errand = errands->first; errand; errand = errand->next)
        if (errand->member == member && !errand->asked)
            ask(errand);
}

void errands_try_again(struct locks *locks, struct errands *errands)
{
    uint64_t now = uv_now(locks->loop);
    for (struct errand *errand = errands->first, *next; errand; errand = next) {
        next = errand->next;
        if (errand->asked)
            continue;
        if (errand->until <= now)
            forget(errand);
        else if (is_up(errand))
            ask(errand);
    }
}

bool errands_are_settled(const struct locks *locks, const struct errands *errands)
{
    (void)locks;
    for (const struct errand *errand = errands->first; errand; errand = errand->next)
        if (is_up(errand))
            return false;
    return true;
}
