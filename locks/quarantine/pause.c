#include "locks/quarantine/pause.h"

#include "locks/quarantine/shard.h"

bool pause_covers(const struct guard *guard, struct slice key)
{
    unsigned number = store_shard(guard->store, key);
    return number < guard->count && shard_left_ms(guard->shards[number]) > 0;
}

/* A node of a Cluster that serves no names any more may have gone while it was in quarantine: it
 * does not count. */
static int64_t left_while_serving(const struct guard *guard, unsigned number)
{
    return store_shard_serves(guard->store, number) ? shard_left_ms(guard->shards[number]) : 0;
}

/* Until a majority of the members is out of quarantine. */
static int64_t members_left_ms(const struct guard *guard, enum quarantine_reason *ret_reason)
{
    unsigned majority = store_shard_count(guard->store) / 2 + 1;
    int64_t best = 0;
    for (unsigned i = 0; i < guard->count; i++) {
        unsigned sooner = store_shard_count(guard->store) - guard->count;
        for (unsigned j = 0; j < guard->count; j++)
            sooner += shard_left_ms(guard->shards[j]) <= shard_left_ms(guard->shards[i]);
        int64_t left = shard_left_ms(guard->shards[i]);
        if (left == 0 || (best > 0 && left >= best) || sooner < majority)
            continue;
        best = left;
        *ret_reason = guard->shards[i]->quarantine.reason;
    }
    return best;
}

int64_t pause_left_ms(const struct guard *guard, struct slice key,
                      enum quarantine_reason *ret_reason)
{
    int64_t longest = 0;
    unsigned only = key.bytes ? store_shard(guard->store, key) : 0;
    *ret_reason = QUARANTINE_NONE;
    if (guard->options.members_share_holds && key.bytes)
        return members_left_ms(guard, ret_reason);
    for (unsigned i = 0; i < guard->count; i++) {
        int64_t left = key.bytes && i != only ? 0 : left_while_serving(guard, i);
        if (left > longest) {
            longest = left;
            *ret_reason = guard->shards[i]->quarantine.reason;
        }
    }
    return longest;
}

/* Whether more than half of the members are up and not in quarantine. */
static bool most_members_grant(const struct guard *guard)
{
    unsigned granting = 0, count = store_shard_count(guard->store);
    for (unsigned i = 0; i < count; i++)
        granting += store_shard_is_up(guard->store, i) &&
                    (i >= guard->count || shard_left_ms(guard->shards[i]) == 0);
    return granting > count / 2;
}

int64_t pause_of_any_ms(const struct guard *guard, enum quarantine_reason *ret_reason)
{
    *ret_reason = QUARANTINE_NONE;
    if (!guard->options.members_share_holds)
        return pause_left_ms(guard, slice_of(NULL), ret_reason);
    return most_members_grant(guard) ? 0 : members_left_ms(guard, ret_reason);
}

bool pause_next(const struct guard *guard, unsigned *position, struct quarantine_state *ret)
{
    while (*position < guard->count) {
        unsigned number = (*position)++;
        int64_t left = left_while_serving(guard, number);
        if (left == 0)
            continue;
        const struct shard *shard = guard->shards[number];
        *ret = (struct quarantine_state){.server = store_shard_place(guard->store, number),
                                         .reason = shard->quarantine.reason,
                                         .since_us = shard->quarantine.since,
                                         .until_us = shard->quarantine.opens,
                                         .left_ms = left};
        return true;
    }
    return false;
}

unsigned pause_count(const struct guard *guard)
{
    unsigned count = 0;
    for (unsigned i = 0; i < guard->count; i++)
        count += left_while_serving(guard, i) > 0;
    return store_shard_count(guard->store) > 1 ? count : 0;
}
