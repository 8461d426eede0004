#include "locks/quarantine/clock_skew.h"

#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/shard.h"

#include <inttypes.h>
#include <stdio.h>

enum { TOLERANCE_US = 1000000 };

/* What has arrived with slots */

/* When the last hold of any shard ends, as far as is known; our time. */
static int64_t clock_skew_last_end(const struct guard *guard)
{
    int64_t last = 0;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        shard_raise(&last, shard->horizon.ends[HORIZON_ALL]);
    return last;
}

/* Any other shard whose holds still run may have handed over a slot before this process ran. */
static void clock_skew_suppose(struct shard *shard, int64_t now)
{
    for (const struct shard *other = shard_first(shard->guard); other; other = shard_after(other))
        if (other != shard && other->clock.is_known && other->horizon.ends[HORIZON_ALL] > now &&
            other->clock.high < shard->arrived.clock_ahead)
            shard->arrived.clock_ahead = other->clock.high;
}

/* Within the time of grace the records are looked at again: they say what other servers have
 * granted of late. */
static void clock_skew_review(struct shard *shard, int64_t now)
{
    const struct guard *guard = shard->guard;
    int64_t ends = shard->arrived.at + DATA_LOSS_GRACE_US, last = clock_skew_last_end(guard);
    if (now >= ends)
        shard->arrived.is_supposed = false;
    if (guard->options.quarantine_ms == QUARANTINE_OFF || now >= ends)
        return;
    if (shard->arrived.is_supposed)
        clock_skew_suppose(shard, now);
    if (last > ends)
        ends = guard->options.quarantine_ms > 0
                   ? shard->arrived.at + guard->options.quarantine_ms * US_PER_MS
                   : last;
    shard_raise(&shard->arrived.ends, ends);
}

bool clock_skew_taken(struct shard *shard, const struct shard *before)
{
    int64_t now = clock_now();
    if (!before->clock.is_known)
        return false;
    int64_t numbers = fence_floor_now(before) + fence_floor_headroom(shard->guard);
    if (shard->arrived.ends <= now || before->clock.high < shard->arrived.clock_ahead)
        shard->arrived.clock_ahead = before->clock.high;
    shard->arrived.at = now;
    shard_raise(&shard->arrived.numbers, numbers);
    return clock_skew_judge(shard);
}

void clock_skew_begin(struct shard *shard)
{
    int64_t now = clock_now();
    bool has_arrived = shard->arrived.at &&
                       (shard->arrived.ends > now || now < shard->arrived.at + DATA_LOSS_GRACE_US);
    shard->arrived.is_supposed = true;
    /* As long as nothing has arrived and no other shard has holds, its clock is not ahead. */
    if (!has_arrived || shard->clock.high < shard->arrived.clock_ahead)
        shard->arrived.clock_ahead = shard->clock.high;
    shard->arrived.at = now;
}

void clock_skew_merge(struct shard *shard, const struct shard *mine)
{
    bool has_both = shard->arrived.at && mine->arrived.at;
    if (mine->arrived.at && (!has_both || mine->arrived.clock_ahead < shard->arrived.clock_ahead))
        shard->arrived.clock_ahead = mine->arrived.clock_ahead;
    shard_raise(&shard->arrived.at, mine->arrived.at);
    shard_raise(&shard->arrived.ends, mine->arrived.ends);
    shard_raise(&shard->arrived.numbers, mine->arrived.numbers);
    shard->arrived.is_supposed |= mine->arrived.is_supposed;
}

void clock_skew_forgive(struct shard *shard)
{
    shard->arrived.ends = 0;
    if (shard->arrived.at)
        shard->arrived.at -= DATA_LOSS_GRACE_US; /* no record that is read later adds to it */
}

bool clock_skew_judge(struct shard *shard)
{
    const struct redis_clock *clock = &shard->clock;
    int64_t now = clock_now();
    bool is_raised = false;
    if (!clock->is_known || !shard->arrived.at)
        return false;
    clock_skew_review(shard, now);
    if (shard->arrived.numbers >
        fence_floor_now(shard) + fence_floor_headroom(shard->guard) + CLOCK_JUMP_US) {
        fence_floor_raise(shard, shard->arrived.numbers);
        is_raised = true;
    }
    bool is_ahead = clock->low > shard->arrived.clock_ahead + CLOCK_JUMP_US;
    int64_t until =
        is_ahead && shard->arrived.ends > now ? clock_theirs(clock, shard->arrived.ends) : 0;
    bool is_longer = until > shard->quarantine.opens + TOLERANCE_US;
    if (is_longer)
        shard_set_quarantine(shard, until, QUARANTINE_CLOCK, true, shard->guard->process);
    return is_longer || is_raised;
}

/* What the clocks are now */

struct extremes {
    unsigned first, last; /* the shards that are most behind and most ahead */
    int64_t apart;        /* the difference at least; us */
};

static struct extremes clock_skew_extremes(const struct guard *guard)
{
    const struct shard *first = NULL, *last = NULL;
    for (const struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        if (!shard->clock.is_known || !store_shard_serves(guard->store, shard->number) ||
            !store_shard_is_up(guard->store, shard->number))
            continue;
        first = !first || shard->clock.high < first->clock.high ? shard : first;
        last = !last || shard->clock.low > last->clock.low ? shard : last;
    }
    if (!first)
        return (struct extremes){0};
    return (struct extremes){first->number, last->number, last->clock.low - first->clock.high};
}

int64_t clock_skew_ms(const struct guard *guard)
{
    int64_t apart = guard->options.members_share_holds ? 0 : clock_skew_extremes(guard).apart;
    return apart > CLOCK_JUMP_US ? apart / US_PER_MS : 0;
}

static void clock_skew_warn(const struct guard *guard, const struct extremes *extremes)
{
    struct failure text;
    char first[200];
    if (!guard->options.warning)
        return;
    snprintf(first, sizeof first, "%s", store_shard_place(guard->store, extremes->first));
    failure_set(&text, 0,
                "the clock of %s is %" PRId64
                " ms ahead of that of %s. When a slot moves between them, no lock of it is granted "
                "until all its old ones must have expired. Set the clocks right (NTP, chrony).",
                store_shard_place(guard->store, extremes->last), extremes->apart / US_PER_MS,
                first);
    guard->options.warning(guard->options.observer, text.text);
}

void clock_skew_watch(struct guard *guard)
{
    if (guard->options.members_share_holds) /* their clocks need not agree */
        return;
    struct extremes extremes = clock_skew_extremes(guard);
    bool is_apart = extremes.apart > CLOCK_JUMP_US;
    if (is_apart && !guard->is_apart)
        clock_skew_warn(guard, &extremes);
    guard->is_apart = is_apart;
}
