#include "locks/quarantine/identity.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/identity_judge.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/slot_migration.h"
#include "locks/quarantine/succession.h"

#include <stdio.h>

enum { NS_PER_US = 1000 };

static void identity_on_time(void *context, const struct store_result *result);

/* Looks at the record of one shard. Call this only while the shard is not being asked. */
static void identity_look(struct shard *shard)
{
    /* A store that closes ends its calls shard by shard: no reason to look at the others. */
    if (store_is_closing(shard->guard->store))
        return;
    if (store_shard_serves(shard->guard->store, shard->number)) {
        identity_record_ask(shard, identity_hear);
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

void identity_extend_because(struct shard *shard, enum quarantine_reason reason)
{
    identity_record_extend(shard, reason, identity_on_extended);
}

void identity_extend(struct shard *shard)
{
    if (shard->identity.is_known)
        identity_extend_because(shard, shard->quarantine.reason);
}

/* Clocks that differ */

static void identity_judge_skew(struct shard *shard)
{
    if (clock_skew_judge(shard))
        identity_extend(shard);
}

/* The holds of another shard have just become known: some may have come from there. */
static void identity_judge_supposed(const struct guard *guard)
{
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->arrived.is_supposed)
            identity_judge_skew(shard);
}

/* One more member was heard: others may have waited for that (succession_waits_for_members). */
static void identity_look_at_waiting(const struct guard *guard)
{
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard))
        if (shard->clock.is_known && !shard->identity.is_known && !shard->connection.is_asking)
            identity_look(shard);
}

/* After a change of servers the shard may be looked at more than once before the new run is
 * adopted: only at the first look its clock is another one. */
static void identity_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time)
{
    const char *run = store_peer(shard->guard->store, shard->number)->run_id;
    if (identity_record_is_another_run(shard->clock_history.run, run))
        shard_forget_clock(shard, sent, heard, time);
    else if (shard_measure(shard, sent, heard, time))
        identity_note_jump(shard);
    snprintf(shard->clock_history.run, sizeof shard->clock_history.run, "%s", run);
}

/* A server that starts later looks for the record in the first slot. */
static void identity_look_if_moved(struct shard *shard)
{
    if (shard->identity.is_known && !shard->connection.is_asking &&
        store_shard_serves(shard->guard->store, shard->number) && identity_record_has_moved(shard))
        identity_look(shard);
}

void identity_hear(void *context, const struct store_result *result)
{
    struct shard *shard = context;
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
    int64_t heard = clock_now();
    bool is_first = !shard->clock.is_known;
    shard_wake_all(shard->guard);
    const struct shard *before = succession_find(shard, &record);
    if (before)
        succession_inherit(shard, before);
    shard->slack /= 2;
    identity_measure(shard, sent, heard, record.time);
    shard->connection.is_asking = false;
    identity_judge(shard, &record);
    identity_judge_skew(shard);
    slot_migration_settle(shard);
    if (is_first && shard->guard->options.members_share_holds)
        identity_look_at_waiting(shard->guard);
    else if (is_first)
        identity_judge_supposed(shard->guard);
    identity_look_if_moved(shard);
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
    identity_measure(shard, sent, clock_now(), told.time);
    shard->heard = heard_before; /* the record was not read */
    identity_judge_skew(shard);
    if (shard->connection.gate_is_closed)
        shard_open_gate(shard);
}

void identity_note_jump(struct shard *shard)
{
    const struct identity_record nothing = {.time = clock_theirs(&shard->clock, shard->heard)};
    int64_t until = data_loss_at_least(shard, &nothing, QUARANTINE_CLOCK);
    shard_raise(&shard->quarantine.opens, until);
    if (!shard->connection.is_asking)
        identity_look(shard);
}

/* A shard that takes over all data of `from` tells by its record what may be missing. A shard that
 * has a record of its own does not: the guard has to remember it. */
void identity_taken(struct guard *guard, unsigned to, unsigned from)
{
    const struct shard *before = shard_find(guard, from);
    int64_t now = clock_now();
    if (!before || !before->identity.is_known)
        return;
    struct shard *shard = shard_at(guard, to);
    identity_look_if_moved(shard);
    identity_look_if_moved(shard_at(guard, from));
    slot_migration_taken(shard);
    if (clock_skew_taken(shard, before))
        identity_extend(shard);
    if (guard->options.quarantine_ms == QUARANTINE_OFF)
        return;
    int64_t ends = store_shard_is_up(guard->store, from) ? 0 : before->horizon.ends[HORIZON_ALL];
    int64_t left = shard_left_us(before, now);
    if (left > 0)
        shard_raise(&ends, now + left);
    if (ends <= now)
        return;
    if (!shard->identity.is_known || !shard->identity.serves) {
        shard->inheritance.from =
            shard->inheritance.ends && shard->inheritance.from != before ? NULL : before;
        shard_raise(&shard->inheritance.ends, ends);
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
    shard->connection.may_open = false;
    shard->connection.is_asking = false;
    shard->migration.look = NULL;
    shard->connection.opened_at = clock_now();
    if (!guard->began)
        guard->began = shard->connection.opened_at;
    store_close_gate(guard->store, number);
    identity_look(shard);
}

void identity_check(struct guard *guard)
{
    shard_wake_all(guard);
    for (struct shard *shard = shard_first(guard); shard; shard = shard_after(shard)) {
        if (shard->quarantine.opens && shard_left_us(shard, clock_now()) == 0)
            shard_set_quarantine(shard, 0, QUARANTINE_NONE, false, guard->process);
        if (!shard->connection.is_asking)
            identity_look(shard);
    }
    clock_skew_watch(guard);
}
