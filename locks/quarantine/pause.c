#include "locks/quarantine/pause.h"

#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/shard.h"

bool pause_covers(const struct guard *guard, struct slice key)
{
    return shard_left_ms(shard_find(guard, store_shard(guard->store, key))) > 0;
}

/* A node of a Cluster that no longer serves names may still be in quarantine: it does not count. */
static int64_t pause_left_of(const struct shard *shard)
{
    return store_shard_serves(shard->guard->store, shard->number) ? shard_left_ms(shard) : 0;
}

/* Until a majority of the members is out of quarantine. */
static int64_t pause_left_of_members(const struct guard *guard, enum quarantine_reason *ret_reason)
{
    unsigned members = store_shard_count(guard->store);
    int64_t best = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        unsigned later = 0;
        int64_t left = shard_left_ms(shard);
        for (const struct shard *other = shard_first(guard); other; other = shard_after(other))
            later += shard_left_ms(other) > left;
        if (left == 0 || (best > 0 && left >= best) || members - later <= members / 2)
            continue;
        best = left;
        *ret_reason = shard->quarantine.reason;
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
        return pause_left_of_members(guard, ret_reason);
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        int64_t left = key.bytes && shard->number != only ? 0 : pause_left_of(shard);
        if (left > longest) {
            longest = left;
            *ret_reason = shard->quarantine.reason;
        }
    }
    return longest;
}

/* Whether more than half of the members are up and not in quarantine. */
static bool pause_most_members_grant(const struct guard *guard)
{
    unsigned granting = 0, count = store_shard_count(guard->store);
    for (unsigned i = 0; i < count; i++)
        granting += store_shard_is_up(guard->store, i) && shard_left_ms(shard_find(guard, i)) == 0;
    return granting > count / 2;
}

int64_t pause_of_any_ms(const struct guard *guard, enum quarantine_reason *ret_reason)
{
    *ret_reason = QUARANTINE_NONE;
    if (!guard->options.members_share_holds)
        return pause_left_ms(guard, slice_of(NULL), ret_reason);
    return pause_most_members_grant(guard) ? 0 : pause_left_of_members(guard, ret_reason);
}

bool pause_next(const struct guard *guard, unsigned *position, struct quarantine_state *ret)
{
    while (*position < guard->count) {
        const struct shard *shard = guard->shards[(*position)++];
        int64_t left = shard ? pause_left_of(shard) : 0;
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

/* See data_loss_until and data_loss_at_least: of a record that is gone. */
static int64_t pause_after_loss_of(const struct shard *shard)
{
    const struct guard_options *options = &shard->guard->options;
    int64_t now = (int64_t)uv_now(options->loop) * US_PER_MS;
    int64_t left = shard->horizon.ends[HORIZON_ALL] - now;
    if (left <= 0 || !store_shard_serves(shard->guard->store, shard->number))
        return 0;
    if (options->quarantine_ms != QUARANTINE_AUTO)
        return options->quarantine_ms == QUARANTINE_OFF ? 0 : options->quarantine_ms;
    return (left > DATA_LOSS_GRACE_US ? left : DATA_LOSS_GRACE_US) / US_PER_MS;
}

int64_t pause_after_loss_ms(const struct guard *guard)
{
    int64_t longest = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        int64_t ms = pause_after_loss_of(shard);
        if (ms > longest)
            longest = ms;
    }
    return longest;
}

unsigned pause_count(const struct guard *guard)
{
    unsigned count = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        count += pause_left_of(shard) > 0;
    return store_shard_count(guard->store) > 1 ? count : 0;
}
