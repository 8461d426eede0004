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
    static const struct guard_part UNKNOWN = {0};
    const struct guard *guard = &locks->guard;
    const struct guard_part *part = number < guard->count ? guard->parts[number] : NULL;
    if (!part)
        part = &UNKNOWN;
    int64_t latest = clock_theirs(&part->clock, (int64_t)(now / NS_PER_US)) + LATE_US + part->slack;
    const struct stamp now_is = {
        .retention = (double)(locks->retention_ms * US_PER_MS),
        .latest = part->clock.is_known ? (double)latest : INFINITY,
        .opens = (double)part->opens,
        .floor = (double)part->floor,
        .level = (double)part->level,
    };
    stamp_write(&now_is, stamp);
}

struct guard_part *guard_part(struct locks *locks, unsigned number)
{
    struct guard *guard = &locks->guard;
    if (number >= guard->count) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
        guard->parts = realloc(guard->parts, (number + 1) * sizeof *guard->parts);
        if (!guard->parts)
            abort();
        while (guard->count <= number)
            guard->parts[guard->count++] = NULL;
    }
    if (!guard->parts[number]) {
        guard->parts[number] = calloc(1, sizeof **guard->parts);
        if (!guard->parts[number])
            abort();
        guard->parts[number]->locks = locks;
        guard->parts[number]->number = number;
    }
    return guard->parts[number];
}

void guard_close(struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++)
        free(locks->guard.parts[i]);
    free(locks->guard.parts);
}

/* The clock */

/* Only where the clock is behind by more than it catches up with before anything is granted:
 * numbers that ran ahead of all clocks without need would be fallen below by whoever does not know
 * of it. */
static void note_ahead(struct guard_part *part, const struct redis_clock *before, int64_t heard)
{
    int64_t greatest = fence_floor_at(part, clock_theirs(before, heard));
    int64_t reached = fence_floor_at(part, clock_theirs(&part->clock, heard));
    if (before->is_known && reached + CAUGHT_UP_US < greatest)
        fence_floor_raise(part, greatest + fence_floor_headroom(part->locks));
}

void guard_measure(struct guard_part *part, int64_t sent, int64_t heard, int64_t time)
{
    struct redis_clock before = part->clock;
    part->heard = heard;
    if (clock_measure(&part->clock, sent, heard, time) == CLOCK_STEADY)
        return;
    note_ahead(part, &before, heard);
    if (!part->has_jumped)
        part->clock_before = before;
    part->has_jumped = true;
    /* What there was of a quarantine goes on for as long as before. */
    if (part->opens)
        part->opens += part->clock.high - before.low;
    identity_note_jump(part);
}

void guard_forget_clock(struct guard_part *part, int64_t sent, int64_t heard, int64_t time)
{
    struct redis_clock before = part->clock;
    part->clock = (struct redis_clock){0};
    clock_measure(&part->clock, sent, heard, time);
    part->heard = heard;
    note_ahead(part, &before, heard);
    if (before.is_known && !part->has_jumped)
        part->clock_before = before;
    if (part->opens && before.is_known)
        part->opens += part->clock.high - before.low;
}

void guard_late(struct locks *locks, unsigned number, const char *error)
{
    struct guard_part *part = guard_part(locks, number);
    int64_t sent = (int64_t)(store_mark_at(locks->store, number).sent / NS_PER_US);
    int64_t heard = (int64_t)(uv_hrtime() / NS_PER_US), time;
    guard_wake(locks);
    time = strtoll(error + strcspn(error, "0123456789"), NULL, 10);
    if (time <= 0)
        return;
    if (heard - sent > part->slack)
        part->slack = heard - sent < LATEST_US ? heard - sent : LATEST_US;
    guard_measure(part, sent, heard, time);
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
        struct guard_part *part = guard->parts[i];
        if (!part || !part->clock.is_known)
            continue;
        part->clock.low += more;
        part->clock.high += more;
        for (size_t i = 0; i < HORIZONS; i++) {
            part->ends[kind] -= more;
            part->written[kind] -= more;
        }
    }
}

/* The quarantine */

int64_t guard_left_us(const struct guard_part *part, int64_t now)
{
    int64_t left = part->opens ? part->opens - clock_theirs(&part->clock, now) : 0;
    return left > 0 ? left : 0;
}

/* Milliseconds. */
static int64_t left_ms(const struct guard_part *part)
{
    int64_t left = part ? guard_left_us(part, (int64_t)(uv_hrtime() / NS_PER_US)) : 0;
    return (left + US_PER_MS - 1) / US_PER_MS;
}

void guard_set_quarantine(struct guard_part *part, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by)
{
    struct locks *locks = part->locks;
    bool was_told = part->is_told;
    int64_t now = (int64_t)(uv_hrtime() / NS_PER_US), left_before = guard_left_us(part, now);
    part->opens = opens;
    int64_t left = guard_left_us(part, now);
    if (!was_told)
        part->since = clock_theirs(&part->clock, now);
    part->is_told = left > 0;
    part->reason = left > 0 ? reason : QUARANTINE_NONE;
    if (left == 0)
        part->opens = 0;
    if (part->is_told == was_told && !(is_first && left > 0))
        return;
    const struct quarantine told = {
        .part = part->number,
        .reason = part->reason,
        .left_ms = left_ms(part),
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
    return number < locks->guard.count && left_ms(locks->guard.parts[number]) > 0;
}

/* The same of what is asked for any names: a node of a Cluster that has gone may have been in it.
 */
static int64_t left_at(const struct locks *locks, unsigned number)
{
    return store_part_serves(locks->store, number) ? left_ms(locks->guard.parts[number]) : 0;
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
            sooner += left_ms(guard->parts[j]) <= left_ms(guard->parts[i]);
        int64_t left = left_ms(guard->parts[i]);
        if (left == 0 || (best > 0 && left >= best) || sooner < majority)
            continue;
        best = left;
        *ret_reason = guard->parts[i]->reason;
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
            *ret_reason = locks->guard.parts[i]->reason;
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
                    (i >= locks->guard.count || left_ms(locks->guard.parts[i]) == 0);
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
        const struct guard_part *part = locks->guard.parts[number];
        *ret = (struct quarantine_state){.server = store_part_place(locks->store, number),
                                         .reason = part->reason,
                                         .since_us = part->since,
                                         .until_us = part->opens,
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
