#include "locks/quarantine/shard.h"

#include "base/memory.h"

#include <string.h>

enum {
    CAUGHT_UP_US = 100000,
    SLEPT_US = 100000,
    HEADROOM_US = 2000000,
};

struct shard *shard_at(struct guard *guard, unsigned number)
{
    if (number >= guard->count)
        guard->shards =
            memory_checked(realloc(guard->shards, (number + 1) * sizeof(struct shard *)));
    while (guard->count <= number) {
        struct shard *shard = memory_checked(calloc(1, sizeof *shard));
        shard->guard = guard;
        shard->number = guard->count;
        guard->shards[guard->count++] = shard;
    }
    return guard->shards[number];
}

struct shard *shard_find(const struct guard *guard, unsigned number)
{
    return number < guard->count ? guard->shards[number] : NULL;
}

struct shard *shard_after(const struct shard *shard)
{
    return shard_find(shard->guard, shard->number + 1);
}

void shard_see_span(struct shard *shard, const struct epoch *epoch)
{
    shard->known.turns = epoch->turns;
    span_see(&shard->span, epoch->span, epoch->before, epoch->turns - shard->clock.now.high,
             shard_sent(shard));
}

int64_t shard_longest_span(const struct guard *guard)
{
    int64_t longest = 0, now = clock_now();
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        shard_raise(&longest, span_longest(&shard->span, now));
    return longest;
}

/* The clock */

/* Redis' time now comes from another clock than `before`. Raises the numbers only if the new clock
 * is too far behind to catch up before the next grant: a node that does not know of needless raises
 * would soon give smaller numbers. */
static void shard_change_clock(struct shard *shard, const struct redis_clock *before)
{
    const struct shard_clock *clock = &shard->clock;
    if (!before->is_known)
        return;
    int64_t greatest = numbers_at(&shard->numbers, clock_theirs(before, clock->answered_at));
    int64_t reached = numbers_at(&shard->numbers, clock_theirs(&clock->now, clock->answered_at));
    if (reached + CAUGHT_UP_US < greatest)
        shard_raise_numbers(shard, greatest + shard_headroom(shard->guard));
    if (!clock->has_jumped)
        shard->clock.before = *before;
    /* A quarantine lasts as long as before. */
    if (shard->quarantine.opens)
        shard->quarantine.opens += clock->now.high - before->low;
}

int64_t shard_sent(const struct shard *shard)
{
    return (int64_t)(store_mark_at(shard->guard->store, shard->number).sent / NS_PER_US);
}

bool shard_measure(struct shard *shard, int64_t sent, int64_t time, bool is_another)
{
    const struct redis_clock before = shard->clock.now;
    shard->clock.answered_at = clock_now();
    if (is_another)
        shard->clock.now = (struct redis_clock){0};
    bool is_steady =
        clock_measure(&shard->clock.now, sent, shard->clock.answered_at, time) == CLOCK_STEADY;
    if (is_steady && !is_another)
        return false;
    shard_change_clock(shard, &before);
    shard->clock.has_jumped |= !is_another;
    return !is_another;
}

void shard_wake_all(struct guard *guard)
{
    int64_t asleep = clock_slept(), more = asleep - guard->asleep;
    if (more < SLEPT_US)
        return;
    guard->asleep = asleep;
    for (struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard)) {
        if (!shard->clock.now.is_known)
            continue;
        shard->clock.now.low += more;
        shard->clock.now.high += more;
        shard->span.turns -= more;
        shard->span.seen -= more;
        shard->span.asked_at -= more;
        shard->known.adopted -= more;
        shard->quarantine.inherited_until -= more;
    }
}

/* Numbers */

int64_t shard_headroom(const struct guard *guard)
{
    return store_primary_lease_ms(guard->store) * US_PER_MS + HEADROOM_US;
}

int64_t shard_number_now(const struct shard *shard)
{
    return numbers_at(&shard->numbers, clock_theirs(&shard->clock.now, clock_now()));
}

void shard_raise_numbers(struct shard *shard, int64_t number)
{
    numbers_raise(&shard->numbers, number, clock_now() + shard->clock.now.low);
}

/* The quarantine */

int64_t shard_left_us(const struct shard *shard, int64_t now)
{
    int64_t opens = shard->quarantine.opens;
    int64_t left = opens ? opens - clock_theirs(&shard->clock.now, now) : 0;
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
    struct shard_quarantine *quarantine = &shard->quarantine;
    bool was_reported = quarantine->is_reported;
    int64_t now = clock_now(), left_before = shard_left_us(shard, now);
    quarantine->opens = opens;
    int64_t left = shard_left_us(shard, now);
    if (!was_reported)
        quarantine->since = clock_theirs(&shard->clock.now, now);
    quarantine->is_reported = left > 0;
    quarantine->reason = left > 0 ? reason : QUARANTINE_NONE;
    if (quarantine->is_reported == was_reported && !(is_first && left > 0))
        return;
    const struct quarantine report = {
        .shard = shard->number,
        .reason = quarantine->reason,
        .left_ms = shard_left_ms(shard),
        .is_first = is_first,
        .is_ended = left == 0 && left_before > 0,
        .is_foreign = strncmp(by, guard->process, PROCESS_LENGTH) != 0,
    };
    if (guard->options.quarantined)
        guard->options.quarantined(guard->options.observer, &report);
}
