#include "locks/quarantine/guard.h"

#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/shard.h"
#include "locks/types/stamp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NS_PER_US = 1000,
    LATE_US = CLOCK_JUMP_US, /* a script may run so long after it was sent */
    LATEST_US = 10000000,    /* the most that is added to that while Redis is slow */
    SOON_US = 10000,         /* the loop's time may be behind by this */
};

int guard_open(struct guard **ret, struct store *store, const struct guard_options *options)
{
    struct guard *guard = calloc(1, sizeof *guard);
    if (!guard)
        return -ENOMEM;
    guard->store = store;
    guard->options = *options;
    snprintf(guard->process, sizeof guard->process, "%s", options->process);
    *ret = guard;
    return 0;
}

void guard_close(struct guard *guard)
{
    if (!guard)
        return;
    for (unsigned i = 0; i < guard->count; i++)
        free(guard->shards[i]);
    free(guard->shards);
    free(guard);
}

void guard_stamp(const struct guard *guard, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH])
{
    static const struct shard UNKNOWN = {0};
    const struct shard *shard = shard_find(guard, number);
    if (!shard)
        shard = &UNKNOWN;
    int64_t latest =
        clock_theirs(&shard->clock, (int64_t)(now / NS_PER_US)) + LATE_US + shard->slack;
    const struct stamp now_is = {
        .retention = (double)(guard->options.retention_ms * US_PER_MS),
        .latest = shard->clock.is_known ? (double)latest : INFINITY,
        .opens = (double)shard->quarantine.opens,
        .floor = (double)shard->fences.floor,
        .level = (double)shard->fences.level,
    };
    stamp_write(&now_is, stamp);
}

void guard_late(struct guard *guard, unsigned number, const char *error)
{
    struct shard *shard = shard_at(guard, number);
    int64_t sent = (int64_t)(store_mark_at(guard->store, number).sent / NS_PER_US);
    int64_t heard = clock_now();
    shard_wake_all(guard);
    int64_t time = strtoll(error + strcspn(error, "0123456789"), NULL, 10);
    if (time <= 0)
        return;
    if (heard - sent > shard->slack)
        shard->slack = heard - sent < LATEST_US ? heard - sent : LATEST_US;
    if (shard_measure(shard, sent, heard, time))
        identity_note_jump(shard);
}

void guard_heard_number(struct guard *guard, int64_t number)
{
    int64_t now = (int64_t)uv_now(guard->options.loop) * US_PER_MS;
    /* Members number their holds by one another's clocks: see succession_learn. */
    if (guard->options.members_share_holds || number == 0)
        return;
    struct shard *shard = shard_find(guard, store_mark(guard->store).shard);
    if (!shard || !shard->clock.is_known || number <= clock_theirs(&shard->clock, now) + SOON_US ||
        number <= fence_floor_now(shard))
        return;
    fence_floor_raise(shard, number);
    identity_extend(shard);
}
