#include "locks/quarantine/clock_skew.h"

#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/identity.h"

#include <inttypes.h>
#include <stdio.h>

enum { US_PER_MS = 1000, NS_PER_US = 1000, TOLERANCE_US = 1000000 };

/* What has come */

static int64_t our_now(void)
{
    return (int64_t)(uv_hrtime() / NS_PER_US);
}

/* By when all that has come must have ended, as far as is known. */
static int64_t last_end(const struct guard *guard)
{
    int64_t last = 0;
    for (unsigned i = 0; i < guard->count; i++) {
        const struct guard_part *part = guard->parts[i];
        last = part && part->ends[HORIZON_ALL] > last ? part->ends[HORIZON_ALL] : last;
    }
    return last;
}

/* Any other part whose holds still run may have handed over a slot before this process started. */
static void suppose_any(struct guard_part *part, int64_t now)
{
    const struct guard *guard = &part->locks->guard;
    for (unsigned i = 0; i < guard->count; i++) {
        const struct guard_part *other = guard->parts[i];
        if (other && other != part && other->clock.is_known && other->ends[HORIZON_ALL] > now &&
            other->clock.high < part->came_by)
            part->came_by = other->clock.high;
    }
}

/* What others have granted of late is in the records that are looked at within the time of grace.
 */
static void review(struct guard_part *part, int64_t now)
{
    const struct locks *locks = part->locks;
    int64_t ends = part->came_at + DATA_LOSS_GRACE_US, last = last_end(&locks->guard);
    if (now >= ends)
        part->came_before = false;
    if (locks->quarantine_ms == QUARANTINE_OFF || now >= ends)
        return;
    if (part->came_before)
        suppose_any(part, now);
    if (last > ends)
        ends = locks->quarantine_ms > 0 ? part->came_at + locks->quarantine_ms * US_PER_MS : last;
    if (ends > part->came_ends)
        part->came_ends = ends;
}

void clock_skew_taken(struct guard_part *part, const struct guard_part *before)
{
    int64_t now = our_now();
    if (!before->clock.is_known)
        return;
    int64_t numbers = fence_floor_now(before) + fence_floor_headroom(part->locks);
    if (part->came_ends <= now || before->clock.high < part->came_by)
        part->came_by = before->clock.high;
    part->came_at = now;
    if (numbers > part->came_numbers)
        part->came_numbers = numbers;
    clock_skew_judge(part);
}

void clock_skew_begin(struct guard_part *part)
{
    part->came_before = true;
    part->came_at = our_now();
    part->came_by = part->clock.high; /* ahead of nobody, as long as no other part has holds */
}

void clock_skew_continue(struct guard_part *part, const struct guard_part *mine)
{
    bool has_both = part->came_at && mine->came_at;
    if (mine->came_at && (!has_both || mine->came_by < part->came_by))
        part->came_by = mine->came_by;
    if (mine->came_at > part->came_at)
        part->came_at = mine->came_at;
    if (mine->came_ends > part->came_ends)
        part->came_ends = mine->came_ends;
    if (mine->came_numbers > part->came_numbers)
        part->came_numbers = mine->came_numbers;
}

void clock_skew_forgive(struct guard_part *part)
{
    part->came_ends = 0;
    if (part->came_at)
        part->came_at -= DATA_LOSS_GRACE_US; /* nothing that is looked at adds to it */
}

void clock_skew_judge(struct guard_part *part)
{
    const struct redis_clock *clock = &part->clock;
    int64_t now = our_now();
    bool is_raised = false;
    if (!clock->is_known || !part->came_at)
        return;
    review(part, now);
    if (part->came_numbers >
        fence_floor_now(part) + fence_floor_headroom(part->locks) + CLOCK_JUMP_US) {
        fence_floor_raise(part, part->came_numbers);
        is_raised = true;
    }
    bool is_ahead = clock->low > part->came_by + CLOCK_JUMP_US;
    int64_t until = is_ahead && part->came_ends > now ? clock_theirs(clock, part->came_ends) : 0;
    bool is_longer = until > part->opens + TOLERANCE_US;
    if (is_longer)
        guard_set_quarantine(part, until, QUARANTINE_CLOCK, true, part->locks->server);
    if (is_longer || is_raised)
        identity_extend(part);
}

void clock_skew_judge_new(const struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++)
        if (locks->guard.parts[i] && locks->guard.parts[i]->came_before)
            clock_skew_judge(locks->guard.parts[i]);
}

/* How it is */

struct extremes {
    unsigned first, last; /* the part that is most behind, and the one that is most ahead */
    int64_t apart;        /* at least; us */
};

static struct extremes find_extremes(const struct locks *locks)
{
    const struct guard *guard = &locks->guard;
    const struct guard_part *first = NULL, *last = NULL;
    for (unsigned i = 0; i < guard->count; i++) {
        const struct guard_part *part = guard->parts[i];
        if (!part || !part->clock.is_known || !store_part_serves(locks->store, i) ||
            !store_part_is_up(locks->store, i))
            continue;
        first = !first || part->clock.high < first->clock.high ? part : first;
        last = !last || part->clock.low > last->clock.low ? part : last;
    }
    if (!first)
        return (struct extremes){0};
    return (struct extremes){first->number, last->number, last->clock.low - first->clock.high};
}

int64_t locks_clocks_apart(const struct locks *locks)
{
    int64_t apart = locks->majority ? 0 : find_extremes(locks).apart;
    return apart > CLOCK_JUMP_US ? apart / US_PER_MS : 0;
}

static void warn(struct locks *locks, const struct extremes *extremes)
{
    struct failure text;
    char first[200];
    snprintf(first, sizeof first, "%s", store_part_place(locks->store, extremes->first));
    failure_set(&text, 0,
                "the clock of %s is %" PRId64 " ms ahead of that of %s: where a slot moves between "
                "them nothing is granted until its locks must have ended; set them right (NTP, "
                "chrony)",
                store_part_place(locks->store, extremes->last), extremes->apart / US_PER_MS, first);
    if (locks->warning)
        locks->warning(locks->expired_context, text.text);
}

void clock_skew_watch(struct locks *locks)
{
    if (locks->majority) /* each member judges by itself */
        return;
    struct extremes extremes = find_extremes(locks);
    bool is_apart = extremes.apart > CLOCK_JUMP_US;
    if (is_apart && !locks->guard.is_apart)
        warn(locks, &extremes);
    locks->guard.is_apart = is_apart;
}
