/* Judges a shard by its epoch: whether data was lost, and until when nothing is granted. */
#include "locks/quarantine/shard.h"

#include <stdio.h>
#include <string.h>

enum {
    MARGIN_US = 2000000, /* by then every other worker has read the epoch and raised the span */
    TOLERANCE_US = 1000000,
    START_US = 500000,
};

int64_t judge_length(const struct guard *guard, enum quarantine_reason reason, int64_t span)
{
    int64_t lease_ms = reason == QUARANTINE_SERVER ? store_primary_lease_ms(guard->store) : 0;
    if (reason == QUARANTINE_NONE || guard_is_off(guard))
        return 0;
    if (guard->options.quarantine_ms > 0 && span > 0)
        return guard->options.quarantine_ms * US_PER_MS;
    return span + MARGIN_US + lease_ms * US_PER_MS;
}

/* Another node */

static bool judge_is_another_run(const char *one, const char *other)
{
    return one[0] && other[0] && strcmp(one, other) != 0;
}

static bool judge_is_id(const char *history)
{
    return history[strspn(history, "0")] != '\0';
}

/* Whether the answering node has been a replica, in the same run, since its history was `history`.
 * If so, it has the data of the node that it followed. batond learns the history only when it
 * connects. A primary without replicas also gets a new history after a while, but then it has no
 * history before it. */
static bool judge_was_replica(const struct shard *shard, const char *history)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    return shard->connection.gate_is_closed && history[0] && peer->history[0] &&
           strcmp(history, peer->history) != 0 && judge_is_id(peer->history_before);
}

/* Whether the node was already running when the node before it last answered. The uptime is the
 * difference of two times, each rounded down to a second, so it may be one too many. */
static bool judge_ran_before(const struct shard *shard, const struct store_peer *peer)
{
    int64_t up = peer->up_s > 0 ? (peer->up_s - 1) * US_PER_S : 0;
    return shard->known.is_known && shard->clock.answered_at - up < shard->known.adopted;
}

/* Whether the node is a promoted replica, and as many replicas as there were have confirmed every
 * grant of any worker. In a Cluster, slots bring holds that no replica confirmed. */
static bool judge_all_is_confirmed(const struct shard *shard, const struct store_peer *peer)
{
    const struct shard_epoch *known = &shard->known;
    return !known->tag[0] && known->followers > 0 &&
           shard->guard->options.replicas >= known->followers && known->history[0] &&
           strcmp(peer->history_before, known->history) == 0 && judge_ran_before(shard, peer);
}

/* Whether it is the same node with the same data, restarted. With Sentinel and in a Cluster it may
 * be a promoted replica; and an older epoch means older data. */
static bool judge_is_restarted(const struct shard *shard, const struct store_peer *peer,
                               const struct epoch *epoch)
{
    const struct guard *guard = shard->guard;
    bool is_older =
        epoch->turns < shard->known.turns ||
        (epoch->turns == shard->known.turns && epoch->span < shard->span.now) ||
        (shard->clock.answered_at < shard->span.turns && epoch_longest(epoch) < shard->span.now);
    return guard->options.is_embedded ||
           (guard->options.keeps_all && store_primary_lease_ms(guard->store) == 0 &&
            !judge_is_id(peer->history_before) && !is_older && !judge_ran_before(shard, peer));
}

/* Whether the answering node has everything that the node before it granted, and a clock that has
 * not ended holds that still run. */
static bool judge_keeps_all(const struct shard *shard, const struct epoch *epoch)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    const struct redis_clock *before = &shard->clock.before;
    const struct shard_epoch *known = &shard->known;
    bool is_ahead = before->is_known && shard->clock.now.low > before->high + CLOCK_JUMP_US;
    bool is_same = !known->is_known || strcmp(epoch->id, known->id) == 0;
    bool is_another_run = judge_is_another_run(epoch->run, peer->run_id) ||
                          judge_is_another_run(known->run, peer->run_id);
    return is_same && is_another_run && !is_ahead &&
           (judge_is_restarted(shard, peer, epoch) || judge_all_is_confirmed(shard, peer));
}

/* Whether the answering node is another one than the epoch names. */
static bool judge_is_of_another(const struct shard *shard, const char *run, const char *history)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    return judge_is_another_run(run, peer->run_id) || judge_was_replica(shard, history);
}

/* Raises the numbers of a quorum member far behind another one: both number some of the same holds,
 * by their own clocks. A member makes up a smaller difference before grants begin again. */
static void judge_learn_numbers(struct shard *shard)
{
    const struct guard *guard = shard->guard;
    for (const struct shard *other = shard_find(guard, 0); other; other = shard_after(other)) {
        if (!guard->options.members_share_holds || !other->clock.now.is_known)
            continue;
        int64_t numbers = shard_number_now(other) + CLOCK_JUMP_US;
        if (numbers > shard_number_now(shard) + 2 * CLOCK_JUMP_US)
            shard_raise_numbers(shard, numbers);
    }
}

/* A member without an epoch may be new, or it lost its epoch when all workers that knew it were
 * gone. More than half of the members must answer to decide that. */
static bool judge_waits_for_members(const struct guard *guard)
{
    unsigned answered = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        answered += shard->clock.now.is_known;
    return guard->options.members_share_holds && !guard_is_off(guard) &&
           answered <= store_shard_count(guard->store) / 2;
}

/* If the first of new members granted a hold before the last one had its epoch, the last one would
 * seem to have lost that hold. So all wait for one another, for half a second at most. */
static bool judge_waits_at_start(const struct guard *guard)
{
    unsigned known = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        known += shard->known.is_known;
    return guard->options.members_share_holds && !guard_is_off(guard) &&
           known < store_shard_count(guard->store) && clock_now() < guard->began + START_US;
}

/* The verdict */

int64_t judge_inherited_until(const struct shard *shard)
{
    int64_t inherited = shard->quarantine.inherited_until;
    bool counts = inherited > shard->clock.answered_at && !guard_is_off(shard->guard);
    return counts && shard->clock.now.is_known ? clock_theirs(&shard->clock.now, inherited) : 0;
}

/* Makes a new epoch of what this worker knows: with a new id if data was lost, otherwise with the
 * id `kept`. */
static void judge_begin(struct shard *shard, const struct epoch *epoch, const char *kept,
                        enum quarantine_reason reason)
{
    /* Both windows count in full, as the epoch may come from an old file. */
    int64_t span = epoch_longest(epoch);
    bool is_open = epoch->opens <= epoch->time || epoch_is_ahead(epoch);
    shard_raise(&span, shard_longest_span(shard->guard));
    judge_learn_numbers(shard);
    if (reason != QUARANTINE_NONE) /* all lost numbers were given before now */
        shard->numbers.floor = numbers_at(&shard->numbers, epoch->time);
    int64_t length = judge_length(shard->guard, reason, span),
            inherited = judge_inherited_until(shard);
    int64_t opens = length > 0 ? epoch->time + length : 0;
    if (reason == QUARANTINE_NONE)
        reason = inherited > 0 ? QUARANTINE_SERVER
                 : is_open     ? shard->quarantine.reason
                               : epoch_reason(epoch);
    shard_raise(&opens, inherited);
    shard_raise(&opens, shard->quarantine.opens);
    shard_raise(&opens, is_open ? 0 : epoch->opens);
    shard_set_quarantine(shard, guard_is_off(shard->guard) ? 0 : opens, reason, opens > 0 && !kept,
                         shard->guard->process);
    epoch_begin(shard, epoch, kept, opens, reason, span, guard_on_epoch);
}

static void judge_begin_without_epoch(struct shard *shard, const struct epoch *none)
{
    const struct guard *guard = shard->guard;
    const struct shard_epoch *known = &shard->known;
    bool is_replaced = known->slot_gained || judge_is_of_another(shard, known->run, known->history);
    if (known->is_known && known->is_moved && !is_replaced)
        judge_begin(shard, none, known->id, QUARANTINE_NONE);
    else if (known->is_known)
        judge_begin(shard, none, NULL, is_replaced ? QUARANTINE_SERVER : QUARANTINE_EPOCH);
    else if (guard->options.members_share_holds && shard_longest_span(guard) > 0)
        judge_begin(shard, none, NULL, QUARANTINE_EPOCH);
    else if (!judge_waits_for_members(guard))
        judge_begin(shard, none, NULL, QUARANTINE_NONE);
}

static void judge_adopt(struct shard *shard, const struct epoch *epoch)
{
    struct shard_epoch *known = &shard->known;
    int followers = store_peer(shard->guard->store, shard->number)->replicas;
    if (epoch->followers > followers)
        followers = epoch->followers;
    if (known->followers < followers || judge_is_another_run(known->run, epoch->run))
        known->followers = followers;
    snprintf(known->id, sizeof known->id, "%s", epoch->id);
    snprintf(known->run, sizeof known->run, "%s", epoch->run);
    snprintf(known->history, sizeof known->history, "%s", epoch->history);
    known->adopted = shard_sent(shard);
    known->is_known = true;
    known->is_moved = known->slot_gained = shard->clock.has_jumped = false;
    shard->quarantine.inherited_until = 0;
}

/* Writes to the epoch what this worker remembers and the epoch lacks, and what could not be written
 * before. */
static void judge_see_span(struct shard *shard, const struct epoch *epoch)
{
    int64_t now = shard->clock.answered_at, own = span_longest(&shard->span, now);
    shard_see_span(shard, epoch);
    if (own > epoch_longest(epoch))
        span_ask(&shard->span, own, now);
    if (!shard->raising && (shard->span.asked > 0 || now >= shard->span.turns))
        guard_write_span(shard, shard->span.asked);
}

/* Nothing was lost, or another worker noticed first. By ending a quarantine, an operator says that
 * earlier losses do not count; a jump of the clock may have come later. */
static void judge_follow(struct shard *shard, const struct epoch *epoch, bool is_other)
{
    bool is_off = guard_is_off(shard->guard);
    bool is_ended =
        is_other && !shard->known.is_moved && !shard->clock.has_jumped && epoch_is_ended(epoch);
    int64_t opens = epoch->opens > epoch->time && !is_off ? epoch->opens : 0, own = 0;
    enum quarantine_reason reason = epoch_reason(epoch);
    if (is_other && judge_is_of_another(shard, shard->known.run, shard->known.history))
        reason = QUARANTINE_SERVER; /* a new worker may have noticed first, and cannot know this */
    if (!is_other && shard->quarantine.opens > opens) {
        own = shard->quarantine.opens; /* its write is under way, or was lost */
        reason = shard->quarantine.reason;
    } else if (is_other && !is_ended && !is_off) {
        /* The loss was noticed after this worker last read the epoch, or just now. */
        int64_t refreshed = clock_theirs(&shard->clock.now, shard->known.adopted);
        own = (epoch->since > refreshed ? epoch->since : epoch->time) - TOLERANCE_US +
              judge_length(shard->guard, reason, shard_longest_span(shard->guard));
        own = own > opens ? own + TOLERANCE_US : 0;
    }
    if (!is_ended && judge_inherited_until(shard) > opens)
        shard_raise(&own, judge_inherited_until(shard));
    if (own <= epoch->time)
        own = 0;
    judge_adopt(shard, epoch);
    judge_see_span(shard, epoch);
    shard_set_quarantine(shard, own > opens ? own : opens, reason, false, epoch->by);
    if (epoch->since && opens > 0)
        shard->quarantine.since = epoch->since;
    if (own > opens || shard->numbers.floor > epoch->floor || shard->numbers.level > epoch->level)
        guard_extend(shard, reason);
}

static void judge_start_serving(struct shard *shard, bool is_other)
{
    struct guard *guard = shard->guard;
    shard->connection.may_open = shard->connection.gate_is_closed;
    if (!shard->connection.gate_is_closed && is_other) /* names and their waiters may be gone */
        guard->options.replaced(guard->options.context, shard->number);
    if (!shard->connection.may_open || judge_waits_at_start(guard))
        return;
    for (shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        if (shard->connection.may_open)
            guard_open_gate(shard);
}

void judge_epoch(struct shard *shard, const struct epoch *epoch)
{
    const struct shard_epoch *known = &shard->known;
    bool is_same = known->is_known && strcmp(epoch->id, known->id) == 0;
    bool is_other = known->is_known && !is_same;
    enum quarantine_reason reason = QUARANTINE_NONE;
    numbers_learn(&shard->numbers, epoch->floor, epoch->level);
    if (shard->migrated_numbers >
        shard_number_now(shard) + shard_headroom(shard->guard) + CLOCK_JUMP_US)
        shard_raise_numbers(shard, shard->migrated_numbers);
    if (!epoch->id[0]) {
        judge_begin_without_epoch(shard, epoch);
        return;
    }
    bool is_of_another = judge_is_of_another(shard, epoch->run, epoch->history);
    bool slot_gained = is_same && known->slot_gained; /* its old epoch may have come back */
    bool is_restarted =
        is_of_another || (is_same && judge_is_of_another(shard, known->run, known->history));
    if (slot_gained || (is_restarted && !judge_keeps_all(shard, epoch)))
        reason = QUARANTINE_SERVER;
    else if ((is_same && shard->clock.has_jumped) || epoch_is_ahead(epoch))
        reason = QUARANTINE_CLOCK;
    if (reason != QUARANTINE_NONE || is_of_another) {
        judge_begin(shard, epoch, reason == QUARANTINE_NONE ? epoch->id : NULL, reason);
        return;
    }
    judge_follow(shard, epoch, is_other);
    judge_start_serving(shard, is_other);
}
