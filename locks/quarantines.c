/* The functions of locks.h about quarantines. */
#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/quarantine/shard.h"

#include <stdio.h>
#include <string.h>

/* How long quarantines last */

/* A Cluster node that no longer serves names may still be in quarantine: it does not count. */
static int64_t quarantine_left_of(const struct shard *shard)
{
    return store_shard_serves(shard->guard->store, shard->number) ? shard_left_ms(shard) : 0;
}

/* Until a majority of the members is out of quarantine. */
static int64_t quarantine_left_of_members(const struct guard *guard,
                                          enum quarantine_reason *ret_reason)
{
    unsigned members = store_shard_count(guard->store);
    int64_t best = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard)) {
        unsigned later = 0;
        int64_t left = shard_left_ms(shard);
        for (const struct shard *other = shard_find(guard, 0); other; other = shard_after(other))
            later += shard_left_ms(other) > left;
        if (left == 0 || (best > 0 && left >= best) || members - later <= members / 2)
            continue;
        best = left;
        *ret_reason = shard->quarantine.reason;
    }
    return best;
}

int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason)
{
    const struct guard *guard = locks->guard;
    char key[KEY_LENGTH];
    int64_t longest = 0;
    unsigned only = 0;
    *ret_reason = QUARANTINE_NONE;
    if (guard->options.members_share_holds && name.bytes)
        return quarantine_left_of_members(guard, ret_reason);
    if (name.bytes)
        only = store_shard(guard->store, operation_key(locks, name, key));
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard)) {
        int64_t left = name.bytes && shard->number != only ? 0 : quarantine_left_of(shard);
        if (left > longest) {
            longest = left;
            *ret_reason = shard->quarantine.reason;
        }
    }
    return longest;
}

/* Whether more than half of the members are up and not in quarantine. */
static bool quarantine_most_members_grant(const struct guard *guard)
{
    unsigned granting = 0, count = store_shard_count(guard->store);
    for (unsigned i = 0; i < count; i++)
        granting += store_shard_is_up(guard->store, i) && shard_left_ms(shard_find(guard, i)) == 0;
    return granting > count / 2;
}

int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason)
{
    const struct guard *guard = locks->guard;
    *ret_reason = QUARANTINE_NONE;
    if (!guard->options.members_share_holds)
        return locks_quarantine(locks, slice_of(NULL), ret_reason);
    return quarantine_most_members_grant(guard) ? 0 : quarantine_left_of_members(guard, ret_reason);
}

bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret)
{
    const struct guard *guard = locks->guard;
    while (*position < guard->count) {
        const struct shard *shard = guard->shards[(*position)++];
        int64_t left = quarantine_left_of(shard);
        if (left == 0)
            continue;
        *ret = (struct quarantine_state){.server = store_shard_place(guard->store, shard->number),
                                         .reason = shard->quarantine.reason,
                                         .since_us = shard->quarantine.since,
                                         .until_us = shard->quarantine.opens,
                                         .left_ms = left};
        return true;
    }
    return false;
}

int64_t locks_pause_after_loss(const struct locks *locks)
{
    int64_t span = shard_longest_span(locks->guard);
    return span > 0 ? judge_length(locks->guard, QUARANTINE_EPOCH, span) / US_PER_MS : 0;
}

unsigned locks_quarantined(const struct locks *locks)
{
    const struct guard *guard = locks->guard;
    unsigned count = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        count += quarantine_left_of(shard) > 0;
    return store_shard_count(guard->store) > 1 ? count : 0;
}

/* Ending quarantines: asks every shard that serves names, even if this worker knows of no
 * quarantine. Another worker may have noticed a loss first. */

struct ending {
    struct locks *locks;
    locks_quarantines_ended *done;
    void *context;
    unsigned asking, answered, ended; /* shards */
    char error[STORE_ERROR_TEXT];     /* why a shard has not answered */
};

struct ending_shard {
    struct ending *ending;
    struct shard *shard;
    char epoch[EPOCH_SIZE];
};

static void ending_finish(struct ending *ending)
{
    enum quarantine_reason reason;
    bool is_left = locks_pause(ending->locks, &reason) > 0;
    bool is_unanswered = ending->answered == 0;
    if (!ending->error[0])
        snprintf(ending->error, sizeof ending->error, "this batond has just noticed another loss");
    ending->done(ending->context, ending->ended, is_left || is_unanswered ? ending->error : NULL);
    free(ending);
}

static void ending_on_reply(void *context, const struct store_result *result)
{
    struct ending_shard *asked = context;
    struct ending *ending = asked->ending;
    struct epoch epoch;
    if (result->outcome == STORE_REPLIED && epoch_read(result->reply, &epoch)) {
        ending->answered++;
        ending->ended += strcmp(epoch.id, asked->epoch) == 0;
        guard_on_epoch(asked->shard, result);
    } else {
        snprintf(ending->error, sizeof ending->error, "%s",
                 result->error ? result->error : "this batond cannot ask a server of Redis");
    }
    free(asked);
    if (--ending->asking == 0)
        ending_finish(ending);
}

static void ending_ask(struct ending *ending, struct shard *shard)
{
    struct ending_shard *asked = memory_checked(malloc(sizeof *asked));
    *asked = (struct ending_shard){.ending = ending, .shard = shard};
    epoch_make_id(asked->epoch);
    ending->asking++;
    epoch_end(shard, asked->epoch, ending_on_reply, asked);
}

bool locks_end_quarantines(struct locks *locks, locks_quarantines_ended *done, void *context)
{
    struct store *store = locks->store;
    unsigned count = store_shard_count(store);
    struct ending *ending = memory_checked(calloc(1, sizeof *ending));
    *ending = (struct ending){.locks = locks, .done = done, .context = context};
    for (unsigned i = 0; i < count && !store_is_closing(store); i++)
        if (store_shard_serves(store, i))
            ending_ask(ending, shard_at(locks->guard, i));
    if (ending->asking > 0)
        return true;
    free(ending);
    return false;
}
