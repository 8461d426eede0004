#include "locks/quarantine/fence_floor.h"

#include "locks/quarantine/shard.h"

enum { HEADROOM_US = 2000000 };

int64_t fence_floor_headroom(const struct guard *guard)
{
    return store_primary_lease_ms(guard->store) * US_PER_MS + HEADROOM_US;
}

/* Scripts compute the same: see scripts/shared/2-call.lua. */
int64_t fence_floor_at(const struct shard *shard, int64_t time)
{
    int64_t number = shard->fences.level > time ? (time + shard->fences.level) / 2 : time;
    return number > shard->fences.floor ? number : shard->fences.floor;
}

int64_t fence_floor_now(const struct shard *shard)
{
    return fence_floor_at(shard, clock_theirs(&shard->clock, clock_now()));
}

int64_t fence_floor_latest(const struct guard *guard)
{
    int64_t latest = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->clock.is_known)
            shard_raise(&latest, fence_floor_now(shard));
    return latest;
}

void fence_floor_raise(struct shard *shard, int64_t number)
{
    int64_t time = clock_now() + shard->clock.low; /* at the earliest */
    shard_raise(&shard->fences.level, number + (number - time));
    shard_raise(&shard->fences.floor, number);
}
