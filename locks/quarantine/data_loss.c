#include "locks/quarantine/data_loss.h"

#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/slot_migration.h"

#include <string.h>

enum { US_PER_S = 1000000 };

/* For how long the server has been running at least. What it says is the difference of two times,
 * both rounded down to whole seconds. */
static int64_t data_loss_up_us(const struct store_peer *peer)
{
    return peer->up_s > 0 ? (peer->up_s - 1) * US_PER_S : 0;
}

/* Whether the clock of the server that answers is ahead of the clock of the server before: by that
 * clock, holds have ended that still run. */
static bool data_loss_clock_is_ahead(const struct shard *shard)
{
    const struct redis_clock *before = &shard->clock_history.before;
    return before->is_known && shard->clock.low > before->high + CLOCK_JUMP_US;
}

/* Whether the server that answers is a replica that has followed the server before and was
 * promoted. A server that was started anew may say the same of its data, but was started after the
 * last answer of the server before. A replica of a shard whose slots have moved may lack some
 * holds, and does not count. */
static bool data_loss_is_promoted(const struct shard *shard, const struct store_peer *peer)
{
    int64_t started = shard->heard - data_loss_up_us(peer);
    return shard->identity.is_known && !data_loss_clock_is_ahead(shard) &&
           !slot_migration_may_lose(shard) && shard->identity.history[0] &&
           strcmp(peer->history_before, shard->identity.history) == 0 &&
           started < shard->identity.adopted_at;
}

/* Whether the server was only started anew, with all its data. */
static bool data_loss_keeps_all(const struct shard *shard, const struct identity_record *record,
                                enum quarantine_reason reason)
{
    return reason == QUARANTINE_IDENTITY && shard->guard->options.keeps_all && record->id[0] &&
           !data_loss_clock_is_ahead(shard) &&
           (!shard->identity.is_known || strcmp(record->id, shard->identity.id) == 0);
}

int64_t data_loss_until(const struct shard *shard, const struct identity_record *record,
                        enum quarantine_reason reason)
{
    const struct guard *guard = shard->guard;
    const struct store_peer *peer = store_peer(guard->store, shard->number);
    bool is_restart = reason == QUARANTINE_IDENTITY;
    if (reason == QUARANTINE_NONE || guard->options.quarantine_ms == QUARANTINE_OFF)
        return 0;
    if (data_loss_keeps_all(shard, record, reason))
        return 0;
    bool is_followed = is_restart && data_loss_is_promoted(shard, peer);
    int64_t ends = shard->horizon.ends[is_followed ? HORIZON_UNREPLICATED : HORIZON_ALL];
    int64_t until = ends ? clock_theirs(&shard->clock, ends) : 0;
    /* The record that Redis read from its disk may be older than its last horizon, which this
     * process does not know. But all holds granted in between are older than the start of this
     * server. */
    int64_t restarted = record->time - data_loss_up_us(peer) + shard->horizon.span;
    if (is_restart && !shard->identity.is_known && shard->horizon.span && restarted > until)
        until = restarted;
    if (until <= record->time)
        return 0;
    return guard->options.quarantine_ms > 0
               ? record->time + guard->options.quarantine_ms * US_PER_MS
               : until;
}

/* Whether the replica that was promoted has every hold that any server has granted. */
static bool data_loss_all_is_confirmed(const struct shard *shard, enum quarantine_reason reason)
{
    const struct guard *guard = shard->guard;
    return reason == QUARANTINE_IDENTITY && shard->identity.followers > 0 &&
           guard->options.replicas >= shard->identity.followers &&
           data_loss_is_promoted(shard, store_peer(guard->store, shard->number));
}

int64_t data_loss_unseen_until(const struct shard *shard, const struct identity_record *record,
                               enum quarantine_reason reason)
{
    const struct guard *guard = shard->guard;
    int64_t lease = store_primary_lease_ms(guard->store) * US_PER_MS;
    bool is_other =
        lease > 0 || data_loss_is_promoted(shard, store_peer(guard->store, shard->number));
    if (reason != QUARANTINE_IDENTITY || guard->options.quarantine_ms != QUARANTINE_AUTO ||
        !is_other || data_loss_all_is_confirmed(shard, reason))
        return 0;
    return record->time + lease + shard->horizon.span;
}

int64_t data_loss_at_least(const struct shard *shard, const struct identity_record *record,
                           enum quarantine_reason reason)
{
    const struct guard *guard = shard->guard;
    int64_t until = data_loss_until(shard, record, reason);
    if (!shard->identity.is_known || reason == QUARANTINE_NONE ||
        guard->options.quarantine_ms == QUARANTINE_OFF ||
        data_loss_keeps_all(shard, record, reason) || data_loss_all_is_confirmed(shard, reason))
        return until;
    int64_t least = record->time + DATA_LOSS_GRACE_US;
    return until > least ? until : least;
}

int64_t data_loss_set_length(const struct shard *shard, int64_t ends)
{
    int64_t set = shard->guard->options.quarantine_ms * US_PER_MS;
    return clock_theirs(&shard->clock, set > 0 ? shard->heard + set : ends);
}
