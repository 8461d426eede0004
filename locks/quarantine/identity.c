#include "locks/quarantine/identity.h"

#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/data_loss.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/slot_migration.h"
#include "locks/quarantine/succession.h"

#include <stdio.h>
#include <string.h>

enum { NS_PER_US = 1000, TOLERANCE_US = 1000000 };

static void answered(void *context, const struct store_result *result);
static void told_before(void *context, const struct store_result *result);
static void told_time(void *context, const struct store_result *result);

static void open_gate(struct guard_part *part)
{
    part->is_closed = false;
    store_open_gate(part->locks->store, part->number);
    locks_serve(part->locks, part->number);
}

void identity_look(struct guard_part *part)
{
    /* The end of one part's calls is no cause to look at the others. */
    if (store_is_closing(part->locks->store))
        return;
    if (store_part_serves(part->locks->store, part->number)) {
        identity_record_ask(part, answered);
        return;
    }
    part->serves = false; /* it has nothing that could be lost, but names may be about to come */
    part->before_tag[0] = '\0';
    if (part->is_closed)
        identity_record_ask_without(part, told_time);
}

/* Where Redis could not be asked, whoever asks next tries again. */
static void extended(void *context, const struct store_result *result)
{
    struct guard_part *part = context;
    if (!identity_record_is_still(part, result))
        identity_check(part->locks);
}

void identity_extend(struct guard_part *part)
{
    if (part->is_known)
        identity_record_extend(part, part->reason, extended);
}

/* Judging */

/* What the record says of holds is remembered here, too. */
static void remember_holds(struct guard_part *part, const struct identity_record *record,
                           const struct redis_clock *clock)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t ends = record->ends[i] ? clock_ours(clock, record->ends[i]) : 0;
        if (ends > part->ends[i])
            part->ends[i] = ends;
        part->written[i] = ends;
    }
    if (record->span > part->span)
        part->span = record->span;
    if (record->floor > part->floor)
        part->floor = record->floor;
    if (record->level > part->level)
        part->level = record->level;
}

/* While the gate was closed, or the record was somebody else's new one, nothing could be written.
 */
static void raise_what_it_lacks(struct guard_part *part, const struct identity_record *record)
{
    for (size_t i = 0; i < HORIZONS; i++) {
        int64_t told = record->ends[i] ? clock_ours(&part->clock, record->ends[i]) : 0;
        if (part->ends[i] > part->heard && part->ends[i] > told + TOLERANCE_US) {
            horizon_write(part);
            return;
        }
    }
}

static void adopt(struct guard_part *part, const struct identity_record *record)
{
    int followers = store_peer(part->locks->store, part->number)->replicas;
    if (record->followers > followers)
        followers = record->followers;
    if (part->followers < followers || identity_record_is_another_run(part->run, record->run))
        part->followers = followers;
    part->is_known = part->serves = true;
    part->owed = 0;
    snprintf(part->id, sizeof part->id, "%s", record->id);
    snprintf(part->era, sizeof part->era, "%s", record->era);
    snprintf(part->run, sizeof part->run, "%s", record->run);
    snprintf(part->history, sizeof part->history, "%s", record->history);
    part->adopted = part->heard;
    part->has_jumped = part->is_moved = false;
}

/* Until when holds may run that it should have taken over from a part that is away, or `until`. */
static int64_t add_owed(const struct guard_part *part, int64_t until,
                        enum quarantine_reason *reason)
{
    int64_t owed = part->owed > part->heard ? data_loss_set_length(part, part->owed) : 0;
    if (owed > 0 && *reason == QUARANTINE_NONE)
        *reason = QUARANTINE_IDENTITY;
    return owed > until ? owed : until;
}

/* Nobody has noticed before: what is known here becomes the record. */
static void begin_era(struct guard_part *part, const struct identity_record *record,
                      enum quarantine_reason reason, bool is_of_another)
{
    succession_learn(part);
    if (!part->is_known && !part->locks->majority)
        clock_skew_begin(part);
    if (reason != QUARANTINE_NONE && !part->locks->keeps_all) /* at most what was given until now */
        part->floor = fence_floor_at(part, record->time);
    if (part->locks->majority && reason == QUARANTINE_NONE)
        reason = QUARANTINE_EPOCH;
    int64_t until = data_loss_at_least(part, record, reason);
    int64_t unseen = data_loss_unseen_until(part, record, reason);
    until = add_owed(part, until, &reason);
    if (unseen > until)
        until = unseen;
    if (part->opens > until) {
        until = part->opens;
        reason = reason == QUARANTINE_NONE ? part->reason : reason;
    }
    guard_set_quarantine(part, until, reason, until > 0, part->locks->server);
    identity_record_replace(part, record, reason, is_of_another, answered);
}

/* Somebody has noticed, or nothing has happened since. By what is known here alone, holds that were
 * lost may run `until`: what the record says of holds is of those that were made since. */
static void follow(struct guard_part *part, const struct identity_record *record,
                   enum quarantine_reason reason, int64_t until)
{
    bool is_same = part->is_known && strcmp(record->era, part->era) == 0;
    /* It is being written, or was lost on its way there: then it is written again. */
    bool is_missing = is_same && part->opens > record->opens;
    int64_t opens = record->opens > record->time ? record->opens : 0;
    if (is_missing && part->opens > opens)
        opens = part->opens;
    bool is_auto = part->locks->quarantine_ms == QUARANTINE_AUTO;
    bool is_known_better = is_auto ? until > opens + TOLERANCE_US
                                   : until > 0 && opens < record->time + DATA_LOSS_GRACE_US;
    if (part->locks->quarantine_ms == QUARANTINE_OFF)
        opens = 0;
    if (!is_known_better)
        reason = is_missing ? part->reason : identity_record_reason(record);
    adopt(part, record);
    raise_what_it_lacks(part, record);
    guard_set_quarantine(part, is_known_better ? until : opens, reason, false, record->by);
    if (record->since && record->opens > record->time)
        part->since = record->since;
    if (is_known_better || is_missing || part->floor > record->floor || part->level > record->level)
        identity_record_extend(part, reason, extended);
}

/* Somebody has ended the quarantine that all have been in: what was lost before that, and when it
 * is noticed, does not count any more. Not so a jump of the clock, which may have come after it. */
static void forgive(struct guard_part *part)
{
    part->before_tag[0] = '\0';
    part->owed = 0;
    part->is_moved = false;
    clock_skew_forgive(part);
}

/* What has happened since the record was looked at last, as far as is known. */
static enum quarantine_reason reason_for(const struct guard_part *part,
                                         const struct identity_record *record,
                                         const struct store_peer *peer)
{
    if (part->is_known && (identity_record_is_another_run(part->run, peer->run_id) ||
                           (part->is_closed && identity_record_was_replica(part->history, peer))))
        return QUARANTINE_IDENTITY;
    if (part->has_jumped)
        return QUARANTINE_CLOCK;
    if (!part->is_known || part->is_moved)
        return QUARANTINE_NONE;
    if (strcmp(record->id, part->id) != 0)
        return QUARANTINE_EPOCH;
    /* Somebody else has noticed that the clock jumped. */
    return strcmp(record->era, part->era) == 0 ? QUARANTINE_NONE : QUARANTINE_CLOCK;
}

/* What the record says is known, and the key of before, where it has another now, was asked. */
static void use(struct guard_part *part, bool is_same)
{
    if (part->is_closed)
        open_gate(part);
    else if (!is_same) /* names may be gone, and with them those who wait for them */
        interests_check_part(part->locks, part->number);
}

static void judge(struct guard_part *part, const struct identity_record *record)
{
    const struct store_peer *peer = store_peer(part->locks->store, part->number);
    bool is_same =
        part->is_known && strcmp(record->id, part->id) == 0 && strcmp(record->era, part->era) == 0;
    bool is_another = identity_record_is_another_run(part->run, peer->run_id);
    enum quarantine_reason reason = reason_for(part, record, peer);
    bool is_strange = identity_record_is_another_run(record->run, peer->run_id) &&
                      (part->is_moved || succession_is_of_another(part, record));
    if (!record->id[0] && !part->is_known && succession_wait_for_others(part))
        return;
    if (!record->id[0] || is_strange) {
        begin_era(part, record, reason, is_strange);
        return;
    }
    bool is_ended =
        part->is_known && !is_same && !part->has_jumped && identity_record_is_ended(record);
    int64_t until = data_loss_until(part, record, reason);
    if (is_ended) {
        forgive(part);
        until = 0;
    }
    bool is_before = is_same && (part->has_jumped || is_another) && part->clock_before.is_known;
    remember_holds(part, record, is_before ? &part->clock_before : &part->clock);
    /* What the server said of its history is as old as the connection. */
    if (identity_record_is_another_run(record->run, peer->run_id) ||
        (part->is_closed && identity_record_was_replica(record->history, peer))) {
        begin_era(part, record, QUARANTINE_IDENTITY, false);
    } else if (is_same && part->has_jumped) {
        begin_era(part, record, QUARANTINE_CLOCK, false);
    } else {
        /* Whoever wrote it under this key may not have heard of what is known from the other. */
        until = add_owed(part, until, &reason);
        bool is_later = part->is_moved && part->opens > record->time && part->opens > until;
        follow(part, record, is_later ? part->reason : reason, is_later ? part->opens : until);
        if (!identity_record_ask_before(part, told_before))
            use(part, is_same);
    }
}

/* The record under its new key was found, or written, before this was asked: what is lost from now
 * on will be missing there, and what was lost until now is missing here. */
static void judge_before(struct guard_part *part, const struct identity_record *before)
{
    bool is_kept = strcmp(before->id, part->before_id) == 0;
    int64_t until = is_kept ? 0 : data_loss_at_least(part, before, QUARANTINE_EPOCH);
    if (before->opens > until && part->locks->quarantine_ms != QUARANTINE_OFF)
        until = before->opens;
    part->before_tag[0] = '\0';
    if (until > part->opens && until > before->time) {
        guard_set_quarantine(part, until,
                             is_kept ? identity_record_reason(before) : QUARANTINE_EPOCH, !is_kept,
                             is_kept ? before->by : part->locks->server);
        identity_extend(part);
    }
    use(part, false);
}

static void told_before(void *context, const struct store_result *result)
{
    struct guard_part *part = context;
    struct identity_record before;
    part->asking = false;
    if (result->outcome == STORE_REPLIED && identity_record_read(result->reply, &before))
        judge_before(part, &before);
    else if (result->outcome == STORE_REFUSED) /* it is on its way elsewhere */
        use(part, false);
}

static void look_at_those_that_wait(struct locks *locks)
{
    for (unsigned i = 0; i < locks->guard.count; i++) {
        struct guard_part *part = locks->guard.parts[i];
        if (part && part->clock.is_known && !part->is_known && !part->asking)
            identity_look(part);
    }
}

/* It may be looked at more than once before what is known of it is that of another run: only the
 * first time its clock is another one. */
static void measure(struct guard_part *part, int64_t sent, int64_t heard, int64_t time)
{
    const char *run = store_peer(part->locks->store, part->number)->run_id;
    if (identity_record_is_another_run(part->clock_run, run))
        guard_forget_clock(part, sent, heard, time);
    else
        guard_measure(part, sent, heard, time);
    snprintf(part->clock_run, sizeof part->clock_run, "%s", run);
}

/* Whoever comes later looks for the record in the first slot. */
static void look_where_it_has_moved(struct guard_part *part)
{
    if (part->is_known && !part->asking && store_part_serves(part->locks->store, part->number) &&
        identity_record_has_moved(part))
        identity_look(part);
}

void identity_hear(struct guard_part *part, const struct store_result *result)
{
    struct identity_record record;
    struct store *store = part->locks->store;
    if (result->outcome != STORE_REPLIED || !identity_record_read(result->reply, &record)) {
        part->asking = false;
        return; /* in a second it is asked again */
    }
    const struct store_peer *peer = store_peer(store, part->number);
    bool is_another = identity_record_is_another_run(record.run, peer->run_id) ||
                      (part->is_closed && identity_record_was_replica(record.history, peer));
    if (part->tag[0] && is_another && slot_migration_waits(part)) {
        part->asking = false;
        return;
    }
    int64_t sent = (int64_t)(store_mark_at(store, part->number).sent / NS_PER_US);
    int64_t heard = (int64_t)(uv_hrtime() / NS_PER_US);
    bool is_first = !part->clock.is_known;
    guard_wake(part->locks);
    const struct guard_part *before = succession_find(part, &record);
    if (before)
        succession_continue(part, before);
    part->slack /= 2;
    measure(part, sent, heard, record.time);
    part->asking = false;
    judge(part, &record);
    clock_skew_judge(part);
    slot_migration_settle(part);
    if (is_first && part->locks->majority)
        look_at_those_that_wait(part->locks);
    else if (is_first)
        clock_skew_judge_new(part->locks);
    look_where_it_has_moved(part);
}

static void answered(void *context, const struct store_result *result)
{
    identity_hear(context, result);
}

static void told_time(void *context, const struct store_result *result)
{
    struct guard_part *part = context;
    struct identity_record told;
    const struct store *store = part->locks->store;
    if (result->outcome != STORE_REPLIED || !identity_record_read(result->reply, &told))
        return; /* in a second it is asked again */
    int64_t sent = (int64_t)(store_mark_at(store, part->number).sent / NS_PER_US);
    int64_t heard_before = part->heard;
    guard_wake(part->locks);
    measure(part, sent, (int64_t)(uv_hrtime() / NS_PER_US), told.time);
    part->heard = heard_before; /* its record was not */
    clock_skew_judge(part);
    if (part->is_closed)
        open_gate(part);
}

void identity_note_jump(struct guard_part *part)
{
    const struct identity_record nothing = {.time = clock_theirs(&part->clock, part->heard)};
    int64_t until = data_loss_at_least(part, &nothing, QUARANTINE_CLOCK);
    if (until > part->opens)
        part->opens = until;
    if (!part->asking)
        identity_look(part);
}

/* Whoever has taken over all that it had tells by its record what may be missing; not so whoever
 * has its own. */
void identity_taken(struct locks *locks, unsigned to, unsigned from)
{
    const struct guard_part *before = from < locks->guard.count ? locks->guard.parts[from] : NULL;
    int64_t now = (int64_t)(uv_hrtime() / NS_PER_US);
    if (!before || !before->is_known)
        return;
    look_where_it_has_moved(guard_part(locks, to));
    look_where_it_has_moved(guard_part(locks, from));
    slot_migration_taken(guard_part(locks, to));
    clock_skew_taken(guard_part(locks, to), before);
    if (locks->quarantine_ms == QUARANTINE_OFF)
        return;
    int64_t ends = store_part_is_up(locks->store, from) ? 0 : before->ends[HORIZON_ALL];
    int64_t left = guard_left_us(before, now);
    struct guard_part *part = guard_part(locks, to);
    if (left > 0 && now + left > ends)
        ends = now + left;
    if (ends <= now)
        return;
    if (!part->is_known || !part->serves) {
        part->owes = part->owed && part->owes != before ? NULL : before;
        part->owed = ends > part->owed ? ends : part->owed;
        return;
    }
    int64_t until = data_loss_set_length(part, ends);
    if (until <= part->opens)
        return;
    guard_set_quarantine(part, until, QUARANTINE_IDENTITY, true, locks->server);
    identity_extend(part);
}

void identity_connected(struct locks *locks, unsigned number)
{
    struct guard_part *part = guard_part(locks, number);
    part->is_closed = true;
    part->asking = part->is_waiting = false;
    part->connected = (int64_t)(uv_hrtime() / NS_PER_US);
    store_close_gate(locks->store, number);
    identity_look(part);
}

void identity_check(struct locks *locks)
{
    guard_wake(locks);
    for (unsigned i = 0; i < locks->guard.count; i++) {
        struct guard_part *part = locks->guard.parts[i];
        if (part && part->opens && guard_left_us(part, (int64_t)(uv_hrtime() / NS_PER_US)) == 0)
            guard_set_quarantine(part, 0, QUARANTINE_NONE, false, locks->server);
        if (part && !part->asking)
            identity_look(part);
    }
    clock_skew_watch(locks);
}
