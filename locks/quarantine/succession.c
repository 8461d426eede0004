#include "locks/quarantine/succession.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/slot_migration.h"

#include <string.h>

enum { START_US = 500000 };

const struct shard *succession_find(const struct shard *shard, const struct identity_record *record)
{
    const struct guard *guard = shard->guard;
    if (shard->identity.is_known && strcmp(shard->identity.era, record->era) == 0)
        return NULL;
    if (!record->id[0])
        return NULL;
    for (const struct shard *other = shard_first(guard); other; other = shard_after(other))
        if (other != shard && other->identity.is_known && other->heard > shard->heard &&
            strcmp(other->identity.id, record->id) == 0 &&
            !store_shard_serves(guard->store, other->number))
            return other;
    return NULL;
}

void succession_inherit(struct shard *shard, const struct shard *before)
{
    struct shard mine = *shard;
    *shard = *before;
    shard->number = mine.number;
    memcpy(shard->key.tag, mine.key.tag, sizeof shard->key.tag);
    shard->connection.gate_is_closed = mine.connection.gate_is_closed;
    shard->connection.may_open = mine.connection.may_open;
    shard->connection.is_asking = mine.connection.is_asking;
    shard->quarantine.is_told = mine.quarantine.is_told;
    shard->identity.serves = mine.identity.serves;
    /* What it should have taken over from `before` it has now. */
    shard->inheritance.ends = mine.inheritance.from == before ? 0 : mine.inheritance.ends;
    shard->inheritance.from = mine.inheritance.from;
    shard->horizon.raising = mine.horizon.raising;
    shard->quarantine.reason = mine.quarantine.reason;
    shard->clock_history.has_jumped = shard->key.is_moved = false;
    clock_skew_merge(shard, &mine);
    slot_migration_keep(shard, &mine);
}

bool succession_is_of_another(const struct shard *shard, const struct identity_record *record)
{
    const struct guard *guard = shard->guard;
    if (!record->run[0])
        return false;
    for (const struct shard *other = shard_first(guard); other; other = shard_after(other))
        if (other != shard && strcmp(other->identity.run, record->run) == 0 &&
            store_shard_serves(guard->store, other->number) &&
            store_shard_is_up(guard->store, other->number))
            return true;
    return false;
}

void succession_learn(struct shard *shard)
{
    const struct guard *guard = shard->guard;
    if (!guard->options.members_share_holds)
        return;
    for (const struct shard *other = shard_first(guard); other; other = shard_after(other)) {
        if (!other->clock.is_known)
            continue;
        for (size_t kind = 0; kind < HORIZONS; kind++)
            shard_raise(&shard->horizon.ends[kind], other->horizon.ends[kind]);
        shard_raise(&shard->horizon.span, other->horizon.span);
        /* A smaller difference is caught up when grants begin again. */
        int64_t numbers = fence_floor_now(other) + CLOCK_JUMP_US;
        if (numbers > fence_floor_now(shard) + 2 * CLOCK_JUMP_US)
            fence_floor_raise(shard, numbers);
    }
}

bool succession_waits_for_members(const struct shard *shard)
{
    const struct guard *guard = shard->guard;
    unsigned heard = 0;
    for (const struct shard *other = shard_first(guard); other; other = shard_after(other))
        heard += other->clock.is_known;
    return guard->options.members_share_holds && guard->options.quarantine_ms != QUARANTINE_OFF &&
           heard <= store_shard_count(guard->store) / 2;
}

bool succession_waits_at_start(const struct guard *guard)
{
    unsigned known = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        known += shard->identity.is_known;
    return guard->options.members_share_holds && guard->options.quarantine_ms != QUARANTINE_OFF &&
           known < store_shard_count(guard->store) && clock_now() < guard->began + START_US;
}
