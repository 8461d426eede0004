#include "locks/quarantine/fence_floor.h"

#include "locks/quarantine/shard.h"

enum {
    US_PER_MS = 1000,
    NS_PER_US = 1000,
    HEADROOM_US = 2000000,
};

int64_t fence_floor_headroom(const struct guard *guard)
{
    return store_primary_lease_ms(guard->store) * US_PER_MS + HEADROOM_US;
}

/* Scripts compute the same: see scripts/shared/1-state.lua. */
int64_t fence_floor_at(const struct shard *shard, int64_t time)
{
    int64_t number = shard->fences.level > time ? (time + shard->fences.level) / 2 : time;
    return number > shard->fences.floor ? number : shard->fences.floor;
}

int64_t fence_floor_now(const struct shard *shard)
{
    return fence_floor_at(shard, clock_theirs(&shard->clock, (int64_t)(uv_hrtime() / NS_PER_US)));
}

int64_t fence_floor_latest(const struct guard *guard)
{
    int64_t latest = 0;
    for (unsigned i = 0; i < guard->count; i++) {
        const struct shard *shard = guard->shards[i];
        int64_t number = shard && shard->clock.is_known ? fence_floor_now(shard) : 0;
        latest = number > latest ? number : latest;
    }
    return latest;
}

void fence_floor_raise(struct shard *shard, int64_t number)
{
    int64_t time = (int64_t)(uv_hrtime() / NS_PER_US) + shard->clock.low; /* at the earliest */
    int64_t level = number + (number - time);
    if (level > shard->fences.level)
        shard->fences.level = level;
    if (number > shard->fences.floor)
        shard->fences.floor = number;
}
