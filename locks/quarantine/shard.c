#include "locks/quarantine/shard.h"

#include "base/memory.h"
#include "locks/quarantine/fence_floor.h"

#include <string.h>
#include <time.h>

enum {
    NS_PER_US = 1000,
    CAUGHT_UP_US = 100000,
    SLEPT_US = 100000,
};

struct shard *shard_at(struct guard *guard, unsigned number)
{
    if (number >= guard->count) {
        guard->shards =
            memory_checked(realloc(guard->shards, (number + 1) * sizeof(struct shard *)));
        while (guard->count <= number)
            guard->shards[guard->count++] = NULL;
    }
    if (!guard->shards[number]) {
        guard->shards[number] = memory_checked(calloc(1, sizeof **guard->shards));
        guard->shards[number]->guard = guard;
        guard->shards[number]->number = number;
    }
    return guard->shards[number];
}

static struct shard *shard_from(const struct guard *guard, unsigned number)
{
    while (number < guard->count && !guard->shards[number])
        number++;
    return number < guard->count ? guard->shards[number] : NULL;
}

struct shard *shard_first(const struct guard *guard)
{
    return shard_from(guard, 0);
}

struct shard *shard_after(const struct shard *shard)
{
    return shard_from(shard->guard, shard->number + 1);
}

void shard_open_gate(struct shard *shard)
{
    shard->connection.gate_is_closed = shard->connection.may_open = false;
    store_open_gate(shard->guard->store, shard->number);
    shard->guard->options.serve(shard->guard->options.context, shard->number);
}

/* The clock */

/* Another clock than `before` gives the time now. Raises the numbers only if the clock is so far
 * behind that it does not catch up before the next grant: numbers that ran ahead of all clocks
 * without need would soon be undercut by a server that does not know of it. */
static void shard_change_clock(struct shard *shard, const struct redis_clock *before)
{
    if (!before->is_known)
        return;
    int64_t greatest = fence_floor_at(shard, clock_theirs(before, shard->heard));
    int64_t reached = fence_floor_at(shard, clock_theirs(&shard->clock, shard->heard));
    if (reached + CAUGHT_UP_US < greatest)
        fence_floor_raise(shard, greatest + fence_floor_headroom(shard->guard));
    if (!shard->clock_history.has_jumped)
        shard->clock_history.before = *before;
    /* A quarantine goes on for as long as it would have. */
    if (shard->quarantine.opens)
        shard->quarantine.opens += shard->clock.high - before->low;
}

bool shard_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    const struct redis_clock before = shard->clock;
    shard->heard = heard;
    if (clock_measure(&shard->clock, sent, heard, time) == CLOCK_STEADY)
        return false;
    shard_change_clock(shard, &before);
    shard->clock_history.has_jumped = true;
    return true;
}

void shard_forget_clock(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    const struct redis_clock before = shard->clock;
    shard->clock = (struct redis_clock){0};
    shard->heard = heard;
    clock_measure(&shard->clock, sent, heard, time);
    shard_change_clock(shard, &before);
}

static int64_t shard_slept_us(void)
{
    struct timespec all, awake;
    clock_gettime(CLOCK_MONOTONIC, &awake);
    clock_gettime(CLOCK_BOOTTIME, &all);
    return (all.tv_sec - awake.tv_sec) * INT64_C(1000000) +
           (all.tv_nsec - awake.tv_nsec) / NS_PER_US;
}

void shard_wake_all(struct guard *guard)
{
    int64_t asleep = shard_slept_us(), more = asleep - guard->asleep;
    if (more < SLEPT_US)
        return;
    guard->asleep = asleep;
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        if (!shard->clock.is_known)
            continue;
        shard->clock.low += more;
        shard->clock.high += more;
        for (size_t kind = 0; kind < HORIZONS; kind++) {
            shard->horizon.ends[kind] -= more;
            shard->horizon.written[kind] -= more;
        }
    }
}

/* The quarantine */

int64_t shard_left_us(const struct shard *shard, int64_t now)
{
    int64_t left =
        shard->quarantine.opens ? shard->quarantine.opens - clock_theirs(&shard->clock, now) : 0;
    return left > 0 ? left : 0;
}

int64_t shard_left_ms(const struct shard *shard)
{
    int64_t left = shard ? shard_left_us(shard, clock_now()) : 0;
    return (left + US_PER_MS - 1) / US_PER_MS;
}

void shard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by)
{
    struct guard *guard = shard->guard;
    bool was_told = shard->quarantine.is_told;
    int64_t now = clock_now(), left_before = shard_left_us(shard, now);
    shard->quarantine.opens = opens;
    int64_t left = shard_left_us(shard, now);
    if (!was_told)
        shard->quarantine.since = clock_theirs(&shard->clock, now);
    shard->quarantine.is_told = left > 0;
    shard->quarantine.reason = left > 0 ? reason : QUARANTINE_NONE;
    if (left == 0)
        shard->quarantine.opens = 0;
    if (shard->quarantine.is_told == was_told && !(is_first && left > 0))
        return;
    const struct quarantine told = {
        .shard = shard->number,
        .reason = shard->quarantine.reason,
        .left_ms = shard_left_ms(shard),
        .is_first = is_first,
        .is_ended = left == 0 && left_before > 0,
        .is_foreign = strncmp(by, guard->process, PROCESS_LENGTH) != 0,
    };
    if (guard->options.quarantined)
        guard->options.quarantined(guard->options.observer, &told);
}
