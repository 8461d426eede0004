#include "locks/quarantine/fence_floor.h"

#include "locks/central/operation.h"
#include "locks/quarantine/identity.h"

enum {
    US_PER_MS = 1000,
    NS_PER_US = 1000,
    HEADROOM_US = 2000000,
    SOON_US = 10000, /* by which the loop's time may be behind */
};

int64_t fence_floor_headroom(const struct locks *locks)
{
    return store_sight_ms(locks->store) * US_PER_MS + HEADROOM_US;
}

/* As scripts/shared/1-state.lua. */
int64_t fence_floor_at(const struct shard *shard, int64_t time)
{
    int64_t number = shard->level > time ? (time + shard->level) / 2 : time;
    return number > shard->floor ? number : shard->floor;
}

int64_t fence_floor_now(const struct shard *shard)
{
    return fence_floor_at(shard, clock_theirs(&shard->clock, (int64_t)(uv_hrtime() / NS_PER_US)));
}

int64_t fence_floor_latest(const struct locks *locks)
{
    int64_t latest = 0;
    for (unsigned i = 0; i < locks->guard.count; i++) {
        const struct shard *shard = locks->guard.shards[i];
        int64_t number = shard && shard->clock.is_known ? fence_floor_now(shard) : 0;
        latest = number > latest ? number : latest;
    }
    return latest;
}

void fence_floor_raise(struct shard *shard, int64_t number)
{
    int64_t time = (int64_t)(uv_hrtime() / NS_PER_US) + shard->clock.low; /* it may be so early */
    int64_t level = number + (number - time);
    if (level > shard->level)
        shard->level = level;
    if (number > shard->floor)
        shard->floor = number;
}

static int64_t greatest_of(const struct locks_reply *reply)
{
    const int64_t numbers[] = {reply->view.version, reply->release.version, reply->broken.version};
    int64_t greatest = reply->hold.version;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        greatest = numbers[i] > greatest ? numbers[i] : greatest;
    return greatest;
}

/* The members of a quorum number what they have by one another's clocks: see succession_learn. */
void fence_floor_heard(struct locks *locks, const struct locks_reply *reply)
{
    int64_t number = greatest_of(reply), now = (int64_t)uv_now(locks->loop) * US_PER_MS;
    unsigned last = store_mark(locks->store).part;
    if (locks->majority || number == 0 || last >= locks->guard.count)
        return;
    struct shard *shard = locks->guard.shards[last];
    if (!shard || !shard->clock.is_known || number <= clock_theirs(&shard->clock, now) + SOON_US ||
        number <= fence_floor_now(shard))
        return;
    fence_floor_raise(shard, number);
    identity_extend(shard);
}
