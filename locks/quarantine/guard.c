#include "locks/quarantine/guard.h"

#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/shard.h"
#include "locks/types/stamp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Without quarantines a loss changes nothing. While the key of the record changes, the record under
 * the new key may be another shard's, or none. */
static void guard_stamp_era(const struct shard *shard, struct stamp *stamp)
{
    bool is_off = shard->guard->options.quarantine_ms == QUARANTINE_OFF;
    bool is_text = strlen(shard->identity.era) == sizeof stamp->era; /* else it is not ours */
    if (is_off || !is_text || !shard->identity.serves || shard->key.is_moved)
        return;
    memcpy(stamp->era, shard->identity.era, sizeof stamp->era);
    memcpy(stamp->tag, shard->key.tag, sizeof stamp->tag);
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
    struct stamp now_is = {
        .retention = (double)(guard->options.retention_ms * US_PER_MS),
        .latest = shard->clock.is_known ? (double)latest : INFINITY,
        .opens = (double)shard->quarantine.opens,
        .floor = (double)shard->fences.floor,
        .level = (double)shard->fences.level,
    };
    if (shard != &UNKNOWN)
        guard_stamp_era(shard, &now_is);
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

void guard_refused(struct guard *guard)
{
    const struct shard *shard = shard_find(guard, store_mark(guard->store).shard);
    if (shard && shard_left_us(shard, clock_now()) == 0)
        identity_check(guard);
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
