#include "locks/quarantine/succession.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/slot_migration.h"

#include <string.h>

const struct guard_part *succession_find(const struct guard_part *part,
                                         const struct identity_record *record)
{
    const struct locks *locks = part->locks;
    if (part->is_known && strcmp(part->era, record->era) == 0)
        return NULL;
    for (unsigned i = 0; record->id[0] && i < locks->guard.count; i++) {
        const struct guard_part *other = locks->guard.parts[i];
        if (other && other != part && other->is_known && other->heard > part->heard &&
            strcmp(other->id, record->id) == 0 && !store_part_serves(locks->store, i))
            return other;
    }
    return NULL;
}

void succession_continue(struct guard_part *part, const struct guard_part *before)
{
    struct guard_part mine = *part;
    *part = *before;
    part->number = mine.number;
    memcpy(part->tag, mine.tag, sizeof part->tag);
    part->is_closed = mine.is_closed;
    part->asking = mine.asking;
    part->is_told = mine.is_told;
    part->serves = mine.serves;
    part->owed = mine.owes == before ? 0 : mine.owed; /* that one's it has */
    part->owes = mine.owes;
    part->raising = mine.raising;
    part->reason = mine.reason;
    part->has_jumped = part->is_moved = false;
    clock_skew_continue(part, &mine);
    slot_migration_continue(part, &mine);
}

bool succession_is_of_another(const struct guard_part *part, const struct identity_record *record)
{
    const struct locks *locks = part->locks;
    for (unsigned i = 0; record->run[0] && i < locks->guard.count; i++) {
        const struct guard_part *other = locks->guard.parts[i];
        if (other && other != part && strcmp(other->run, record->run) == 0 &&
            store_part_serves(locks->store, i) && store_part_is_up(locks->store, i))
            return true;
    }
    return false;
}

void succession_learn(struct guard_part *part)
{
    const struct guard *guard = &part->locks->guard;
    for (unsigned i = 0; part->locks->majority && i < guard->count; i++) {
        const struct guard_part *other = guard->parts[i];
        if (!other || !other->clock.is_known)
            continue;
        for (size_t i = 0; i < HORIZONS; i++)
            if (other->ends[kind] > part->ends[kind])
                part->ends[kind] = other->ends[kind];
        if (other->span > part->span)
            part->span = other->span;
        /* By less than that it has caught up when grants begin again. */
        int64_t numbers = fence_floor_now(other) + CLOCK_JUMP_US;
        if (numbers > fence_floor_now(part) + 2 * CLOCK_JUMP_US)
            fence_floor_raise(part, numbers);
    }
}

bool succession_wait_for_others(const struct guard_part *part)
{
    const struct locks *locks = part->locks;
    unsigned heard = 0;
    for (unsigned i = 0; i < locks->guard.count; i++)
        heard += locks->guard.parts[i] && locks->guard.parts[i]->clock.is_known;
    return locks->majority && locks->quarantine_ms != QUARANTINE_OFF &&
           heard <= store_part_count(locks->store) / 2;
}
