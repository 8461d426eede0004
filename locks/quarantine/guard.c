#include "locks/quarantine/guard.h"

#include "locks/central/operation.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/identity.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum {
    US_PER_MS = 1000,
    NS_PER_US = 1000,
    LATE_US = CLOCK_JUMP_US, /* beyond what is known of Redis' clock */
    LATEST_US = 10000000,    /* however slow Redis is */
    CAUGHT_UP_US = 100000,
    SLEPT_US = 100000,
};

void guard_stamp(const struct locks *locks, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH])
{
    static const struct shard UNKNOWN = {0};
    const struct guard *guard = &locks->guard;
    const struct shard *shard = number < guard->count ? guard->shards[number] : NULL;
    if (!shard)
        shard = &UNKNOWN;
    int64_t latest =
        clock_theirs(&shard->clock, (int64_t)(now / NS_PER_US)) + LATE_US + shard->slack;
    const struct stamp now_is = {
        .retention = (double)(locks->retention_ms * US_PER_MS),
        .latest = shard->clock.is_known ? (double)latest : INFINITY,
        .opens = (double)shard->opens,
        .floor = (double)shard->floor,
        .level = (double)shard->level,
    };
    stamp_write(&now_is, stamp);
}

struct shard *guard_shard(struct locks *locks, unsigned number)
{
    struct guard *guard = &locks->guard;
    if (number >= guard->count) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
        guard->shards = realloc(guard->shards, (number + 1) * sizeof *guard->shards);
        if (!guard->shards)
            abort();
        while (guard->count <= number)
            guard->shards[guard->count++] = NULL;
    }
    if (!guard->shards[number]) {
        guard->shards[number] = calloc(1, sizeof **guard->shards);
        if (!guard->shards[number])
            abort();
        guard->shards[number]->locks = locks;
        guard->shards[number]->number = number;
    }
    return guard->shards[number];
}

void guard_close(struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++)
        free(locks->guard.shards[i]);
    free(locks->guard.shards);
}

/* The clock */

/* Only where the clock is behind by more than it catches up with before anything is granted:
 * numbers that ran ahead of all clocks without need would be fallen below by whoever does not know
 * of it. */
static void note_ahead(struct shard *shard, const struct redis_clock *before, int64_t heard)
{
    int64_t greatest = fence_floor_at(shard, clock_theirs(before, heard));
    int64_t reached = fence_floor_at(shard, clock_theirs(&shard->clock, heard));
    if (before->is_known && reached + CAUGHT_UP_US < greatest)
        fence_floor_raise(shard, greatest + fence_floor_headroom(shard->locks));
}

void guard_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    struct redis_clock before = shard->clock;
    shard->heard = heard;
    if (clock_measure(&shard->clock, sent, heard, time) == CLOCK_STEADY)
        return;
    note_ahead(shard, &before, heard);
    if (!shard->has_jumped)
        shard->clock_before = before;
    shard->has_jumped = true;
    /* What there was of a quarantine goes on for as long as before. */
    if (shard->opens)
        shard->opens += shard->clock.high - before.low;
    identity_note_jump(shard);
}

void guard_forget_clock(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    struct redis_clock before = shard->clock;
    shard->clock = (struct redis_clock){0};
    clock_measure(&shard->clock, sent, heard, time);
    shard->heard = heard;
    note_ahead(shard, &before, heard);
    if (before.is_known && !shard->has_jumped)
        shard->clock_before = before;
    if (shard->opens && before.is_known)
        shard->opens += shard->clock.high - before.low;
}

void guard_late(struct locks *locks, unsigned number, const char *error)
{
    struct shard *shard = guard_shard(locks, number);
    int64_t sent = (int64_t)(store_mark_at(locks->store, number).sent / NS_PER_US);
    int64_t heard = (int64_t)(uv_hrtime() / NS_PER_US), time;
    guard_wake(locks);
    time = strtoll(error + strcspn(error, "0123456789"), NULL, 10);
    if (time <= 0)
        return;
    if (heard - sent > shard->slack)
        shard->slack = heard - sent < LATEST_US ? heard - sent : LATEST_US;
    guard_measure(shard, sent, heard, time);
}

static int64_t slept(void)
{
    struct timespec all, awake;
    clock_gettime(CLOCK_MONOTONIC, &awake);
    clock_gettime(CLOCK_BOOTTIME, &all);
    return (all.tv_sec - awake.tv_sec) * INT64_C(1000000) +
           (all.tv_nsec - awake.tv_nsec) / NS_PER_US;
}

void guard_wake(struct locks *locks)
{
    struct guard *guard = &locks->guard;
    int64_t asleep = slept(), more = asleep - guard->asleep;
    if (more < SLEPT_US)
        return;
    guard->asleep = asleep;
    for (unsigned i = 0; i < guard->count; i++) {
        struct shard *shard = guard->shards[i];
        if (!shard || !shard->clock.is_known)
            continue;
        shard->clock.low += more;
        shard->clock.high += more;
        for (size_t kind = 0; kind < HORIZONS; kind++) {
            shard->ends[kind] -= more;
            shard->written[kind] -= more;
        }
    }
}

/* The quarantine */

int64_t guard_left_us(const struct shard *shard, int64_t now)
{
    int64_t left = shard->opens ? shard->opens - clock_theirs(&shard->clock, now) : 0;
    return left > 0 ? left : 0;
}

/* Milliseconds. */
static int64_t left_ms(const struct shard *shard)
{
    int64_t left = shard ? guard_left_us(shard, (int64_t)(uv_hrtime() / NS_PER_US)) : 0;
    return (left + US_PER_MS - 1) / US_PER_MS;
}

void guard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by)
{
    struct locks *locks = shard->locks;
    bool was_told = shard->is_told;
    int64_t now = (int64_t)(uv_hrtime() / NS_PER_US), left_before = guard_left_us(shard, now);
    shard->opens = opens;
    int64_t left = guard_left_us(shard, now);
    if (!was_told)
        shard->since = clock_theirs(&shard->clock, now);
    shard->is_told = left > 0;
    shard->reason = left > 0 ? reason : QUARANTINE_NONE;
    if (left == 0)
        shard->opens = 0;
    if (shard->is_told == was_told && !(is_first && left > 0))
        return;
    const struct quarantine told = {
        .part = shard->number,
        .reason = shard->reason,
        .left_ms = left_ms(shard),
        .is_first = is_first,
        .is_ended = left == 0 && left_before > 0,
        .is_foreign = strncmp(by, locks->server, PROCESS_LENGTH) != 0,
    };
    if (locks->quarantined)
        locks->quarantined(locks->expired_context, &told);
}

bool guard_is_closed(const struct locks *locks, struct slice key)
{
    unsigned number = store_part(locks->store, key);
    return number < locks->guard.count && left_ms(locks->guard.shards[number]) > 0;
}

/* The same of what is asked for any names: a node of a Cluster that has gone may have been in it.
 */
static int64_t left_at(const struct locks *locks, unsigned number)
{
    return store_part_serves(locks->store, number) ? left_ms(locks->guard.shards[number]) : 0;
}

/* Of a quorum: until so many members are out of it that they are a majority. */
static int64_t majority_left_ms(const struct locks *locks, enum quarantine_reason *ret_reason)
{
    const struct guard *guard = &locks->guard;
    unsigned majority = store_part_count(locks->store) / 2 + 1;
    int64_t best = 0;
    for (unsigned i = 0; i < guard->count; i++) {
        unsigned sooner = store_part_count(locks->store) - guard->count;
        for (unsigned j = 0; j < guard->count; j++)
            sooner += left_ms(guard->shards[j]) <= left_ms(guard->shards[i]);
        int64_t left = left_ms(guard->shards[i]);
        if (left == 0 || (best > 0 && left >= best) || sooner < majority)
            continue;
        best = left;
        *ret_reason = guard->shards[i]->reason;
    }
    return best;
}

int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason)
{
    char key[KEY_LENGTH];
    int64_t longest = 0;
    unsigned only = name.bytes ? store_part(locks->store, operation_key(locks, name, key)) : 0;
    *ret_reason = QUARANTINE_NONE;
    if (locks->majority && name.bytes)
        return majority_left_ms(locks, ret_reason);
    for (unsigned i = 0; i < locks->guard.count; i++) {
        int64_t left = name.bytes && i != only ? 0 : left_at(locks, i);
        if (left > longest) {
            longest = left;
            *ret_reason = locks->guard.shards[i]->reason;
        }
    }
    return longest;
}

/* Whether more than half of the members of a quorum are there and not in it. */
static bool majority_grants(const struct locks *locks)
{
    unsigned granting = 0, count = store_part_count(locks->store);
    for (unsigned i = 0; i < count; i++)
        granting += store_part_is_up(locks->store, i) &&
                    (i >= locks->guard.count || left_ms(locks->guard.shards[i]) == 0);
    return granting > count / 2;
}

int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason)
{
    *ret_reason = QUARANTINE_NONE;
    if (!locks->majority)
        return locks_quarantine(locks, slice_of(NULL), ret_reason);
    return majority_grants(locks) ? 0 : majority_left_ms(locks, ret_reason);
}

bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret)
{
    while (*position < locks->guard.count) {
        unsigned number = (*position)++;
        int64_t left = left_at(locks, number);
        if (left == 0)
            continue;
        const struct shard *shard = locks->guard.shards[number];
        *ret = (struct quarantine_state){.server = store_part_place(locks->store, number),
                                         .reason = shard->reason,
                                         .since_us = shard->since,
                                         .until_us = shard->opens,
                                         .left_ms = left};
        return true;
    }
    return false;
}

unsigned locks_quarantined(const struct locks *locks)
{
    unsigned count = 0;
    for (unsigned i = 0; i < locks->guard.count; i++)
        count += left_at(locks, i) > 0;
    return store_part_count(locks->store) > 1 ? count : 0;
}
