#include "locks/quarantine/identity.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/slot_migration.h"
#include "locks/quarantine/succession.h"

#include <stdio.h>
#include <string.h>

enum { NS_PER_US = 1000, TOLERANCE_US = 1000000 };

static void identity_on_record(void *context, const struct store_result *result);
static void identity_on_old_record(void *context, const struct store_result *result);
static void identity_on_time(void *context, const struct store_result *result);

static void open_gate(struct shard *shard)
{
    shard->connection.gate_is_closed = false;
    store_open_gate(shard->guard->store, shard->number);
    shard->guard->options.serve(shard->guard->options.context, shard->number);
}

void identity_look(struct shard *shard)
{
    /* A store that closes ends its calls shard by shard: that is no reason to look at the others.
     */
    if (store_is_closing(shard->guard->store))
        return;
    if (store_part_serves(shard->guard->store, shard->number)) {
        identity_record_ask(shard, identity_on_record);
        return;
    }
    /* The shard has no data that could be lost, but names may be about to come. */
    shard->identity.serves = false;
    shard->key.before_tag[0] = '\0';
    if (shard->connection.gate_is_closed)
        identity_record_ask_without(shard, identity_on_time);
}

/* If Redis could not be asked, the next look tries again. */
static void identity_on_extended(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    if (!identity_record_is_still(shard, result))
        identity_check(shard->guard);
}

void identity_extend(struct shard *shard)
{
    if (shard->identity.is_known)
        identity_record_extend(shard, shard->quarantine.reason, identity_on_extended);
}

/* Clocks that differ */

static void judge_skew(struct shard *shard)
{
    if (clock_skew_judge(shard))
        identity_extend(shard);
}

/* The holds of another shard have just become known: some may have come from there. */
static void judge_supposed(const struct guard *guard)
{
    for (unsigned i = 0; i < guard->count; i++)
        if (guard->shards[i] && guard->shards[i]->arrived.is_supposed)
            judge_skew(guard->shards[i]);
}

/* Judging */

/* Remembers what the record says of holds. */
static void remember_holds(struct shard *shard, const struct identity_record *record,
                           const struct redis_clock *clock)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t ends = record->ends[i] ? clock_ours(clock, record->ends[i]) : 0;
        if (ends > shard->horizon.ends[i])
            shard->horizon.ends[i] = ends;
        shard->horizon.written[i] = ends;
    }
    if (record->span > shard->horizon.span)
        shard->horizon.span = record->span;
    if (record->floor > shard->fences.floor)
        shard->fences.floor = record->floor;
    if (record->level > shard->fences.level)
        shard->fences.level = record->level;
}

/* While the gate was closed, and while another server had just replaced the record, the horizon
 * could not be written. */
static void write_missing_horizon(struct shard *shard, const struct identity_record *record)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t told = record->ends[i] ? clock_ours(&shard->clock, record->ends[i]) : 0;
        if (shard->horizon.ends[i] > shard->heard && shard->horizon.ends[i] > told + TOLERANCE_US) {
            horizon_write(shard);
            return;
        }
    }
}

static void adopt(struct shard *shard, const struct identity_record *record)
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

/* Until when holds may run that the shard should have taken over from others that are away; at
 * least `until`. */
static int64_t add_owed(const struct shard *shard, int64_t until, enum quarantine_reason *reason)
{
    int64_t owed = shard->inheritance.ends > shard->heard
                       ? data_loss_set_length(shard, shard->inheritance.ends)
                       : 0;
    if (owed > 0 && *reason == QUARANTINE_NONE)
        *reason = QUARANTINE_IDENTITY;
    return owed > until ? owed : until;
}

/* This server is the first to notice a loss: what it knows becomes the record. */
static void begin_era(struct shard *shard, const struct identity_record *record,
                      enum quarantine_reason reason, bool is_of_another)
{
    succession_learn(shard);
    if (!shard->identity.is_known && !shard->guard->options.members_share_holds)
        clock_skew_begin(shard);
    /* All lost numbers were given until now. */
    if (reason != QUARANTINE_NONE && !shard->guard->options.keeps_all)
        shard->fences.floor = fence_floor_at(shard, record->time);
    if (shard->guard->options.members_share_holds && reason == QUARANTINE_NONE)
        reason = QUARANTINE_EPOCH;
    int64_t until = data_loss_at_least(shard, record, reason);
    int64_t unseen = data_loss_unseen_until(shard, record, reason);
    until = add_owed(shard, until, &reason);
    if (unseen > until)
        until = unseen;
    if (shard->quarantine.opens > until) {
        until = shard->quarantine.opens;
        reason = reason == QUARANTINE_NONE ? shard->quarantine.reason : reason;
    }
    shard_set_quarantine(shard, until, reason, until > 0, shard->guard->process);
    identity_record_replace(shard, record, reason, is_of_another, identity_on_record);
}

/* Another server has noticed the loss, or nothing has happened since. `until` is until when lost
 * holds may run by what is known here alone: the record tells of holds that were made since. */
static void follow(struct shard *shard, const struct identity_record *record,
                   enum quarantine_reason reason, int64_t until)
{
    bool is_same = shard->identity.is_known && strcmp(record->era, shard->identity.era) == 0;
    /* The end of the quarantine is being written, or was lost on its way: it is written again. */
    bool is_missing = is_same && shard->quarantine.opens > record->opens;
    int64_t opens = record->opens > record->time ? record->opens : 0;
    if (is_missing && shard->quarantine.opens > opens)
        opens = shard->quarantine.opens;
    bool is_auto = shard->guard->options.quarantine_ms == QUARANTINE_AUTO;
    bool is_known_better = is_auto ? until > opens + TOLERANCE_US
                                   : until > 0 && opens < record->time + DATA_LOSS_GRACE_US;
    if (shard->guard->options.quarantine_ms == QUARANTINE_OFF)
        opens = 0;
    if (!is_known_better)
        reason = is_missing ? shard->quarantine.reason : identity_record_reason(record);
    adopt(shard, record);
    write_missing_horizon(shard, record);
    shard_set_quarantine(shard, is_known_better ? until : opens, reason, false, record->by);
    if (record->since && record->opens > record->time)
        shard->quarantine.since = record->since;
    if (is_known_better || is_missing || shard->fences.floor > record->floor ||
        shard->fences.level > record->level)
        identity_record_extend(shard, reason, identity_on_extended);
}

/* An operator has ended the quarantine for all servers: what was lost before that no longer counts,
 * even if it is noticed later. A jump of the clock still counts, since it may have come later. */
static void forgive(struct shard *shard)
{
    shard->key.before_tag[0] = '\0';
    shard->inheritance.ends = 0;
    shard->key.is_moved = false;
    clock_skew_forgive(shard);
}

/* What has happened since the last look at the record, as far as is known. */
static enum quarantine_reason reason_for(const struct shard *shard,
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

/* The record was adopted, and so was the record under the old key, if the key has changed. */
static void start_serving(struct shard *shard, bool is_same)
{
    if (shard->connection.gate_is_closed)
        open_gate(shard);
    else if (!is_same) /* names may be gone, and waiters with them */
        shard->guard->options.replaced(shard->guard->options.context, shard->number);
}

static void judge(struct shard *shard, const struct identity_record *record)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    bool is_same = shard->identity.is_known && strcmp(record->id, shard->identity.id) == 0 &&
                   strcmp(record->era, shard->identity.era) == 0;
    bool is_another = identity_record_is_another_run(shard->identity.run, peer->run_id);
    enum quarantine_reason reason = reason_for(shard, record, peer);
    bool is_strange = identity_record_is_another_run(record->run, peer->run_id) &&
                      (shard->key.is_moved || succession_is_of_another(shard, record));
    if (!record->id[0] && !shard->identity.is_known && succession_waits_for_members(shard))
        return;
    if (!record->id[0] || is_strange) {
        begin_era(shard, record, reason, is_strange);
        return;
    }
    bool is_ended = shard->identity.is_known && !is_same && !shard->clock_history.has_jumped &&
                    identity_record_is_ended(record);
    int64_t until = data_loss_until(shard, record, reason);
    if (is_ended) {
        forgive(shard);
        until = 0;
    }
    bool is_before = is_same && (shard->clock_history.has_jumped || is_another) &&
                     shard->clock_history.before.is_known;
    remember_holds(shard, record, is_before ? &shard->clock_history.before : &shard->clock);
    /* The server has told its history when it was connected to, and not since. */
    if (identity_record_is_another_run(record->run, peer->run_id) ||
        (shard->connection.gate_is_closed && identity_record_was_replica(record->history, peer))) {
        begin_era(shard, record, QUARANTINE_IDENTITY, false);
    } else if (is_same && shard->clock_history.has_jumped) {
        begin_era(shard, record, QUARANTINE_CLOCK, false);
    } else {
        /* The server that wrote the record under this key may not know the one under the old key.
         */
        until = add_owed(shard, until, &reason);
        bool is_later = shard->key.is_moved && shard->quarantine.opens > record->time &&
                        shard->quarantine.opens > until;
        follow(shard, record, is_later ? shard->quarantine.reason : reason,
               is_later ? shard->quarantine.opens : until);
        if (!identity_record_ask_before(shard, identity_on_old_record))
            start_serving(shard, is_same);
    }
}

/* The record under the new key was found, or written, before the old one was asked for. So what was
 * lost until then is missing under the old key, and a later loss will be seen under the new one. */
static void judge_before(struct shard *shard, const struct identity_record *old)
{
    bool is_kept = strcmp(old->id, shard->key.before_id) == 0;
    int64_t until = is_kept ? 0 : data_loss_at_least(shard, old, QUARANTINE_EPOCH);
    if (old->opens > until && shard->guard->options.quarantine_ms != QUARANTINE_OFF)
        until = old->opens;
    shard->key.before_tag[0] = '\0';
    if (until > shard->quarantine.opens && until > old->time) {
        shard_set_quarantine(shard, until, is_kept ? identity_record_reason(old) : QUARANTINE_EPOCH,
                             !is_kept, is_kept ? old->by : shard->guard->process);
        identity_extend(shard);
    }
    start_serving(shard, false);
}

static void identity_on_old_record(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    struct identity_record old;
    shard->connection.is_asking = false;
    if (result->outcome == STORE_REPLIED && identity_record_read(result->reply, &old))
        judge_before(shard, &old);
    else if (result->outcome == STORE_REFUSED) /* the slot is on its way elsewhere */
        start_serving(shard, false);
}

static void look_at_waiting_members(struct guard *guard)
{
    for (unsigned i = 0; i < guard->count; i++) {
        struct shard *shard = guard->shards[i];
        if (shard && shard->clock.is_known && !shard->identity.is_known &&
            !shard->connection.is_asking)
            identity_look(shard);
    }
}

/* After a change of servers the shard may be looked at more than once before the new run is
 * adopted: only at the first look its clock is another one. */
static void measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    const char *run = store_peer(shard->guard->store, shard->number)->run_id;
    if (identity_record_is_another_run(shard->clock_history.run, run))
        shard_forget_clock(shard, sent, heard, time);
    else if (shard_measure(shard, sent, heard, time))
        identity_note_jump(shard);
    snprintf(shard->clock_history.run, sizeof shard->clock_history.run, "%s", run);
}

/* A server that starts later looks for the record in the first slot. */
static void look_if_moved(struct shard *shard)
{
    if (shard->identity.is_known && !shard->connection.is_asking &&
        store_part_serves(shard->guard->store, shard->number) && identity_record_has_moved(shard))
        identity_look(shard);
}

void identity_hear(struct shard *shard, const struct store_result *result)
{
    struct identity_record record;
    struct store *store = shard->guard->store;
    if (result->outcome != STORE_REPLIED || !identity_record_read(result->reply, &record)) {
        shard->connection.is_asking = false;
        return; /* the shard is asked again in a second */
    }
    const struct store_peer *peer = store_peer(store, shard->number);
    bool is_another =
        identity_record_is_another_run(record.run, peer->run_id) ||
        (shard->connection.gate_is_closed && identity_record_was_replica(record.history, peer));
    if (shard->key.tag[0] && is_another && slot_migration_waits(shard, identity_look)) {
        shard->connection.is_asking = false;
        return;
    }
    int64_t sent = (int64_t)(store_mark_at(store, shard->number).sent / NS_PER_US);
    int64_t heard = (int64_t)(uv_hrtime() / NS_PER_US);
    bool is_first = !shard->clock.is_known;
    shard_wake_all(shard->guard);
    const struct shard *before = succession_find(shard, &record);
    if (before)
        succession_inherit(shard, before);
    shard->slack /= 2;
    measure(shard, sent, heard, record.time);
    shard->connection.is_asking = false;
    judge(shard, &record);
    judge_skew(shard);
    slot_migration_settle(shard);
    if (is_first && shard->guard->options.members_share_holds)
        look_at_waiting_members(shard->guard);
    else if (is_first)
        judge_supposed(shard->guard);
    look_if_moved(shard);
}

static void identity_on_record(void *context, const struct store_result *result)
{
    identity_hear(context, result);
}

static void identity_on_time(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    struct identity_record told;
    const struct store *store = shard->guard->store;
    if (result->outcome != STORE_REPLIED || !identity_record_read(result->reply, &told))
        return; /* the shard is asked again in a second */
    int64_t sent = (int64_t)(store_mark_at(store, shard->number).sent / NS_PER_US);
    int64_t heard_before = shard->heard;
    shard_wake_all(shard->guard);
    measure(shard, sent, (int64_t)(uv_hrtime() / NS_PER_US), told.time);
    shard->heard = heard_before; /* the record was not read */
    judge_skew(shard);
    if (shard->connection.gate_is_closed)
        open_gate(shard);
}

void identity_note_jump(struct shard *shard)
{
    const struct identity_record nothing = {.time = clock_theirs(&shard->clock, shard->heard)};
    int64_t until = data_loss_at_least(shard, &nothing, QUARANTINE_CLOCK);
    if (until > shard->quarantine.opens)
        shard->quarantine.opens = until;
    if (!shard->connection.is_asking)
        identity_look(shard);
}

/* A shard that takes over all data of `from` tells by its record what may be missing. A shard that
 * has a record of its own does not: the guard has to remember it. */
void identity_taken(struct guard *guard, unsigned to, unsigned from)
{
    const struct shard *before = from < guard->count ? guard->shards[from] : NULL;
    int64_t now = (int64_t)(uv_hrtime() / NS_PER_US);
    if (!before || !before->identity.is_known)
        return;
    look_if_moved(shard_at(guard, to));
    look_if_moved(shard_at(guard, from));
    slot_migration_taken(shard_at(guard, to));
    if (clock_skew_taken(shard_at(guard, to), before))
        identity_extend(shard_at(guard, to));
    if (guard->options.quarantine_ms == QUARANTINE_OFF)
        return;
    int64_t ends = store_part_is_up(guard->store, from) ? 0 : before->horizon.ends[HORIZON_ALL];
    int64_t left = shard_left_us(before, now);
    struct shard *shard = shard_at(guard, to);
    if (left > 0 && now + left > ends)
        ends = now + left;
    if (ends <= now)
        return;
    if (!shard->identity.is_known || !shard->identity.serves) {
        shard->inheritance.from =
            shard->inheritance.ends && shard->inheritance.from != before ? NULL : before;
        shard->inheritance.ends = ends > shard->inheritance.ends ? ends : shard->inheritance.ends;
        return;
    }
    int64_t until = data_loss_set_length(shard, ends);
    if (until <= shard->quarantine.opens)
        return;
    shard_set_quarantine(shard, until, QUARANTINE_IDENTITY, true, guard->process);
    identity_extend(shard);
}

void identity_connected(struct guard *guard, unsigned number)
{
    struct shard *shard = shard_at(guard, number);
    shard->connection.gate_is_closed = true;
    shard->connection.is_asking = false;
    shard->migration.look = NULL;
    shard->connection.opened_at = (int64_t)(uv_hrtime() / NS_PER_US);
    store_close_gate(guard->store, number);
    identity_look(shard);
}

void identity_check(struct guard *guard)
{
    shard_wake_all(guard);
    for (unsigned i = 0; i < guard->count; i++) {
        struct shard *shard = guard->shards[i];
        if (shard && shard->quarantine.opens &&
            shard_left_us(shard, (int64_t)(uv_hrtime() / NS_PER_US)) == 0)
            shard_set_quarantine(shard, 0, QUARANTINE_NONE, false, guard->process);
        if (shard && !shard->connection.is_asking)
            identity_look(shard);
    }
    clock_skew_watch(guard);
}
