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
int64_t fence_floor_at(const struct guard_part *part, int64_t time)
{
    int64_t number = part->level > time ? (time + part->level) / 2 : time;
    return number > part->floor ? number : part->floor;
}

int64_t fence_floor_now(const struct guard_part *part)
{
    return fence_floor_at(part, clock_theirs(&part->clock, (int64_t)(uv_hrtime() / NS_PER_US)));
}

int64_t fence_floor_latest(const struct locks *locks)
{
    int64_t latest = 0;
    for (unsigned i = 0; i < locks->guard.count; i++) {
        const struct guard_part *part = locks->guard.parts[i];
        int64_t number = part && part->clock.is_known ? fence_floor_now(part) : 0;
        latest = number > latest ? number : latest;
    }
    return latest;
}

void fence_floor_raise(struct guard_part *part, int64_t number)
{
    int64_t time = (int64_t)(uv_hrtime() / NS_PER_US) + part->clock.low; /* it may be so early */
    int64_t level = number + (number - time);
    if (level > part->level)
        part->level = level;
    if (number > part->floor)
        part->floor = number;
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
    struct guard_part *part = locks->guard.parts[last];
    if (!part || !part->clock.is_known || number <= clock_theirs(&part->clock, now) + SOON_US ||
        number <= fence_floor_now(part))
        return;
    fence_floor_raise(part, number);
    identity_extend(part);
}
