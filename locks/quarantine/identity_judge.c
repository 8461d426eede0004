#include "locks/quarantine/identity_judge.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/succession.h"

#include <stdio.h>
#include <string.h>

enum { TOLERANCE_US = 1000000 };

/* Remembers what the record says of holds. */
static void identity_judge_remember_holds(struct shard *shard, const struct identity_record *record,
                                          const struct redis_clock *clock)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t ends = record->ends[i] ? clock_ours(clock, record->ends[i]) : 0;
        shard_raise(&shard->horizon.ends[i], ends);
        shard->horizon.written[i] = ends;
    }
    shard_raise(&shard->horizon.span, record->span);
    shard_raise(&shard->fences.floor, record->floor);
    shard_raise(&shard->fences.level, record->level);
}

/* While the gate was closed, and while another server had just replaced the record, the horizon
 * could not be written. */
static void identity_judge_write_missing_horizon(struct shard *shard,
                                                 const struct identity_record *record)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t told = record->ends[i] ? clock_ours(&shard->clock, record->ends[i]) : 0;
        if (shard->horizon.ends[i] > shard->heard && shard->horizon.ends[i] > told + TOLERANCE_US) {
            horizon_write(shard);
            return;
        }
    }
}

static void identity_judge_adopt(struct shard *shard, const struct identity_record *record)
{
    int followers = store_peer(shard->guard->store, shard->number)->replicas;
    if (record->followers > followers)
        followers = record->followers;
    if (shard->identity.followers < followers ||
        identity_record_is_another_run(shard->identity.run, record->run))
        shard->identity.followers = followers;
    shard->identity.is_known = shard->identity.serves = true;
    shard->inheritance.ends = 0;
    snprintf(shard->identity.id, sizeof shard->identity.id, "%s", record->id);
    snprintf(shard->identity.era, sizeof shard->identity.era, "%s", record->era);
    snprintf(shard->identity.run, sizeof shard->identity.run, "%s", record->run);
    snprintf(shard->identity.history, sizeof shard->identity.history, "%s", record->history);
    shard->identity.adopted_at = shard->heard;
    shard->clock_history.has_jumped = shard->key.is_moved = false;
}

/* The later of `until` and the end of the holds that the shard should have taken over from shards
 * that are away. */
static int64_t identity_judge_add_owed(const struct shard *shard, int64_t until,
                                       enum quarantine_reason *reason)
{
    int64_t owed = shard->inheritance.ends > shard->heard
                       ? data_loss_set_length(shard, shard->inheritance.ends)
                       : 0;
    if (owed > 0 && *reason == QUARANTINE_NONE)
        *reason = QUARANTINE_IDENTITY;
    return owed > until ? owed : until;
}

/* This server is the first to notice a loss: what it knows becomes the record. */
static void identity_judge_begin_era(struct shard *shard, const struct identity_record *record,
                                     enum quarantine_reason reason, bool is_of_another)
{
    succession_learn(shard);
    if (!shard->identity.is_known && !shard->guard->options.members_share_holds)
        clock_skew_begin(shard);
    /* All lost numbers were given before now. */
    if (reason != QUARANTINE_NONE && !shard->guard->options.keeps_all)
        shard->fences.floor = fence_floor_at(shard, record->time);
    if (shard->guard->options.members_share_holds && reason == QUARANTINE_NONE)
        reason = QUARANTINE_EPOCH;
    int64_t until = data_loss_at_least(shard, record, reason);
    int64_t unseen = data_loss_unseen_until(shard, record, reason);
    until = identity_judge_add_owed(shard, until, &reason);
    shard_raise(&until, unseen);
    if (shard->quarantine.opens > until) {
        until = shard->quarantine.opens;
        reason = reason == QUARANTINE_NONE ? shard->quarantine.reason : reason;
    }
    shard_set_quarantine(shard, until, reason, until > 0, shard->guard->process);
    identity_record_replace(shard, record, reason, is_of_another, identity_hear);
}

/* Another server has noticed the loss, or nothing has happened since. `until` is until when lost
 * holds may run by what is known here alone: the record tells of holds that were made since. */
static void identity_judge_follow(struct shard *shard, const struct identity_record *record,
                                  enum quarantine_reason reason, int64_t until)
{
    bool is_same = shard->identity.is_known && strcmp(record->era, shard->identity.era) == 0;
    /* The end of the quarantine is being written, or was lost on its way: it is written again. */
    bool is_missing = is_same && shard->quarantine.opens > record->opens;
    int64_t opens = record->opens > record->time ? record->opens : 0;
    if (is_missing)
        shard_raise(&opens, shard->quarantine.opens);
    bool is_auto = shard->guard->options.quarantine_ms == QUARANTINE_AUTO;
    bool is_known_better = is_auto ? until > opens + TOLERANCE_US
                                   : until > 0 && opens < record->time + DATA_LOSS_GRACE_US;
    if (shard->guard->options.quarantine_ms == QUARANTINE_OFF)
        opens = 0;
    if (!is_known_better)
        reason = is_missing ? shard->quarantine.reason : identity_record_reason(record);
    identity_judge_adopt(shard, record);
    identity_judge_write_missing_horizon(shard, record);
    shard_set_quarantine(shard, is_known_better ? until : opens, reason, false, record->by);
    if (record->since && record->opens > record->time)
        shard->quarantine.since = record->since;
    if (is_known_better || is_missing || shard->fences.floor > record->floor ||
        shard->fences.level > record->level)
        identity_extend_because(shard, reason);
}

/* An operator has ended the quarantine for all servers: what was lost before that no longer counts,
 * even if it is noticed later. A jump of the clock still counts, since it may have come later. */
static void identity_judge_forgive(struct shard *shard)
{
    shard->key.before_tag[0] = '\0';
    shard->inheritance.ends = 0;
    shard->key.is_moved = false;
    clock_skew_forgive(shard);
}

/* What has happened since the last look at the record, as far as is known. */
static enum quarantine_reason identity_judge_reason(const struct shard *shard,
                                                    const struct identity_record *record,
                                                    const struct store_peer *peer)
{
    if (shard->identity.is_known &&
        (identity_record_is_another_run(shard->identity.run, peer->run_id) ||
         (shard->connection.gate_is_closed &&
          identity_record_was_replica(shard->identity.history, peer))))
        return QUARANTINE_IDENTITY;
    if (shard->clock_history.has_jumped)
        return QUARANTINE_CLOCK;
    if (!shard->identity.is_known || shard->key.is_moved)
        return QUARANTINE_NONE;
    if (strcmp(record->id, shard->identity.id) != 0)
        return QUARANTINE_EPOCH;
    /* Another server has noticed that the clock jumped. */
    return strcmp(record->era, shard->identity.era) == 0 ? QUARANTINE_NONE : QUARANTINE_CLOCK;
}

static void identity_judge_open_gates(const struct guard *guard)
{
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->connection.may_open)
            shard_open_gate(shard);
}

/* The record was adopted, and so was the record under the old key, if the key has changed. */
static void identity_judge_start_serving(struct shard *shard, bool is_same)
{
    shard->connection.may_open = shard->connection.gate_is_closed;
    if (shard->connection.may_open && !succession_waits_at_start(shard->guard))
        identity_judge_open_gates(shard->guard);
    else if (!shard->connection.gate_is_closed && !is_same) /* names may be gone, with waiters */
        shard->guard->options.replaced(shard->guard->options.context, shard->number);
}

/* The record under the new key was found, or written, before the old one was asked for. So what was
 * lost until then is missing under the old key, and a later loss will be seen under the new one. */
static void identity_judge_old(struct shard *shard, const struct identity_record *old)
{
    bool is_kept = strcmp(old->id, shard->key.before_id) == 0;
    int64_t until = is_kept ? 0 : data_loss_at_least(shard, old, QUARANTINE_EPOCH);
    if (shard->guard->options.quarantine_ms != QUARANTINE_OFF)
        shard_raise(&until, old->opens);
    shard->key.before_tag[0] = '\0';
    if (until > shard->quarantine.opens && until > old->time) {
        shard_set_quarantine(shard, until, is_kept ? identity_record_reason(old) : QUARANTINE_EPOCH,
                             !is_kept, is_kept ? old->by : shard->guard->process);
        identity_extend(shard);
    }
    identity_judge_start_serving(shard, false);
}

static void identity_judge_on_old_record(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    struct identity_record old;
    shard->connection.is_asking = false;
    if (result->outcome == STORE_REPLIED && identity_record_read(result->reply, &old))
        identity_judge_old(shard, &old);
    else if (result->outcome == STORE_REFUSED) /* the slot is on its way elsewhere */
        identity_judge_start_serving(shard, false);
}

void identity_judge(struct shard *shard, const struct identity_record *record)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    bool is_same = shard->identity.is_known && strcmp(record->id, shard->identity.id) == 0 &&
                   strcmp(record->era, shard->identity.era) == 0;
    bool is_another = identity_record_is_another_run(shard->identity.run, peer->run_id);
    enum quarantine_reason reason = identity_judge_reason(shard, record, peer);
    bool is_strange = identity_record_is_another_run(record->run, peer->run_id) &&
                      (shard->key.is_moved || succession_is_of_another(shard, record));
    if (!record->id[0] && !shard->identity.is_known && succession_waits_for_members(shard))
        return;
    if (!record->id[0] || is_strange) {
        identity_judge_begin_era(shard, record, reason, is_strange);
        return;
    }
    bool is_ended = shard->identity.is_known && !is_same && !shard->clock_history.has_jumped &&
                    identity_record_is_ended(record);
    int64_t until = data_loss_until(shard, record, reason);
    if (is_ended) {
        identity_judge_forgive(shard);
        until = 0;
    }
    bool is_before = is_same && (shard->clock_history.has_jumped || is_another) &&
                     shard->clock_history.before.is_known;
    identity_judge_remember_holds(shard, record,
                                  is_before ? &shard->clock_history.before : &shard->clock);
    /* The server told its history when batond connected to it, and not since. */
    if (identity_record_is_another_run(record->run, peer->run_id) ||
        (shard->connection.gate_is_closed && identity_record_was_replica(record->history, peer))) {
        identity_judge_begin_era(shard, record, QUARANTINE_IDENTITY, false);
    } else if (is_same && shard->clock_history.has_jumped) {
        identity_judge_begin_era(shard, record, QUARANTINE_CLOCK, false);
    } else {
        /* The server that wrote this record may not know the one under the old key. */
        until = identity_judge_add_owed(shard, until, &reason);
        bool is_later = shard->key.is_moved && shard->quarantine.opens > record->time &&
                        shard->quarantine.opens > until;
        identity_judge_follow(shard, record, is_later ? shard->quarantine.reason : reason,
                              is_later ? shard->quarantine.opens : until);
        if (!identity_record_ask_before(shard, identity_judge_on_old_record))
            identity_judge_start_serving(shard, is_same);
    }
}
