#include "locks/quarantine/guard.h"

#include "base/memory.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    LATE_US = CLOCK_JUMP_US, /* how long after it was sent a script may still run */
    LATEST_US = 10000000,    /* the most that is added to it while Redis is slow */
    SOON_US = 10000,         /* how far the loop's time may be behind */
};

struct guard *guard_open(struct store *store, const struct guard_options *options)
{
    struct guard *guard = memory_checked(calloc(1, sizeof *guard));
    guard->store = store;
    guard->options = *options;
    snprintf(guard->process, sizeof guard->process, "%s", options->process);
    return guard;
}

void guard_close(struct guard *guard)
{
    if (!guard)
        return;
    for (unsigned i = 0; i < guard->count; i++)
        free(guard->shards[i]);
    free(guard->shards);
    free(guard);
}

/* Stamps */

/* With quarantines off, a loss changes nothing. While the key of the epoch changes, the epoch at
 * the new key may be another shard's, or missing. */
static void guard_stamp_epoch(const struct shard *shard, struct stamp *stamp)
{
    const struct shard_epoch *known = &shard->known;
    bool is_text = strlen(known->id) == sizeof stamp->epoch; /* otherwise Baton did not write it */
    if (guard_is_off(shard->guard) || !is_text || !known->is_known || known->is_moved)
        return;
    memcpy(stamp->epoch, known->id, sizeof stamp->epoch);
    memcpy(stamp->tag, known->tag, sizeof stamp->tag);
}

void guard_stamp(const struct guard *guard, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH])
{
    static const struct shard UNKNOWN = {0};
    const struct shard *known = shard_find(guard, number), *shard = known ? known : &UNKNOWN;
    const struct redis_clock *clock = &shard->clock.now;
    int64_t latest = clock_theirs(clock, (int64_t)(now / NS_PER_US)) + LATE_US + shard->clock.slack;
    struct stamp now_is = {
        .retention = (double)(guard->options.retention_ms * US_PER_MS),
        .latest = clock->is_known ? (double)latest : 0, /* 0: refused as late, with the time */
        .opens = (double)shard->quarantine.opens,
        .floor = (double)shard->numbers.floor,
        .level = (double)shard->numbers.level,
    };
    if (known)
        guard_stamp_epoch(shard, &now_is);
    stamp_write(&now_is, stamp);
}

/* Reading the epochs */

void guard_open_gate(struct shard *shard)
{
    struct guard *guard = shard->guard;
    shard->connection.gate_is_closed = shard->connection.may_open = false;
    store_open_gate(guard->store, shard->number);
    guard->options.serve(guard->options.context, shard->number);
}

static void guard_refresh_shard(struct shard *shard)
{
    struct store *store = shard->guard->store;
    if (shard->connection.is_asking || store_is_closing(store)) /* it ends its calls one by one */
        return;
    if (store_shard_serves(store, shard->number)) {
        epoch_ask(shard, guard_on_epoch);
        return;
    }
    /* The shard has no data that could be lost. */
    shard->known.is_known = shard->known.is_moved = shard->known.slot_gained = false;
    if (shard->connection.gate_is_closed)
        guard_open_gate(shard);
}

static void guard_refresh_if_moved(struct shard *shard)
{
    if (store_shard_serves(shard->guard->store, shard->number) &&
        (!shard->known.is_known || epoch_has_moved(shard)))
        guard_refresh_shard(shard);
}

void guard_refresh(struct guard *guard)
{
    shard_wake_all(guard);
    for (struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        guard_refresh_shard(shard);
}

void guard_connected(struct guard *guard, unsigned number)
{
    struct shard *shard = shard_at(guard, number);
    shard->connection = (struct shard_connection){.gate_is_closed = true};
    if (!guard->began)
        guard->began = clock_now();
    store_close_gate(guard->store, number);
    guard_refresh_shard(shard);
}

static void guard_note_jump(struct shard *shard)
{
    int64_t now = clock_theirs(&shard->clock.now, shard->clock.answered_at);
    int64_t length = judge_length(shard->guard, QUARANTINE_CLOCK, shard_longest_span(shard->guard));
    if (length > 0)
        shard_raise(&shard->quarantine.opens, now + length);
    guard_refresh_shard(shard);
}

/* After a change of nodes the epoch may be read more than once before the new run is adopted: only
 * the first reading finds another clock. */
static void guard_measure(struct shard *shard, int64_t time)
{
    const char *run = store_peer(shard->guard->store, shard->number)->run_id;
    struct shard_clock *clock = &shard->clock;
    shard_wake_all(shard->guard);
    if (shard_measure(shard, shard_sent(shard), time,
                      clock->run[0] && run[0] && strcmp(clock->run, run) != 0))
        guard_note_jump(shard);
    snprintf(clock->run, sizeof clock->run, "%s", run);
}

void guard_on_epoch(void *context, const struct store_result *result)
{
    struct shard *shard = context;
    struct epoch epoch;
    bool is_first = !shard->clock.now.is_known;
    if (result->outcome != STORE_REPLIED || !epoch_read(result->reply, &epoch)) {
        shard->connection.is_asking = false;
        return; /* the shard is asked again in a second */
    }
    shard->clock.slack /= 2;
    guard_measure(shard, epoch.time);
    shard->connection.is_asking = false;
    judge_epoch(shard, &epoch);
    if (shard->known.is_known)
        guard_refresh_if_moved(shard);
    if (!is_first || !shard->guard->options.members_share_holds)
        return; /* otherwise other members may wait for it (judge_waits_for_members) */
    for (shard = shard_find(shard->guard, 0); shard; shard = shard_after(shard))
        guard_refresh_if_moved(shard);
}

/* Whether the epoch still is the one that is known here; another one is read. If Redis did not
 * reply, the next reading tries again. */
static bool guard_is_still(struct shard *shard, const struct store_result *result,
                           struct epoch *ret)
{
    bool is_replied = result->outcome == STORE_REPLIED && epoch_read(result->reply, ret);
    bool is_still = is_replied && strcmp(ret->id, shard->known.id) == 0;
    if (is_replied)
        guard_measure(shard, ret->time);
    if (is_replied && !is_still)
        guard_refresh(shard->guard);
    return is_still;
}

static void guard_on_extended(void *context, const struct store_result *result)
{
    struct epoch epoch;
    guard_is_still(context, result, &epoch);
}

void guard_extend(struct shard *shard, enum quarantine_reason reason)
{
    if (shard->known.is_known)
        epoch_extend(shard, reason, guard_on_extended);
}

/* Takes over the quarantine of other shards, even while the shard serves nothing and so has no
 * epoch: Redis sends it names by ASK. */
static void guard_inherit(struct shard *shard)
{
    int64_t opens = judge_inherited_until(shard);
    if (opens <= shard->quarantine.opens)
        return;
    shard_set_quarantine(shard, opens, QUARANTINE_SERVER, shard->known.is_known,
                         shard->guard->process);
    guard_extend(shard, QUARANTINE_SERVER);
}

/* What scripts report */

void guard_late(struct guard *guard, unsigned number, const char *error)
{
    struct shard *shard = shard_at(guard, number);
    int64_t took = clock_now() - shard_sent(shard);
    int64_t time = strtoll(error + strcspn(error, "0123456789"), NULL, 10);
    if (time <= 0)
        return;
    shard_raise(&shard->clock.slack, took < LATEST_US ? took : LATEST_US);
    guard_measure(shard, time);
    guard_inherit(shard);
}

void guard_refused(struct guard *guard)
{
    const struct shard *shard = shard_find(guard, store_mark(guard->store).shard);
    if (shard && shard_left_us(shard, clock_now()) == 0)
        guard_refresh(guard);
}

void guard_observe_number(struct guard *guard, int64_t number)
{
    int64_t now = (int64_t)uv_now(guard->options.loop) * US_PER_MS;
    /* Members number holds by one another's clocks: see judge_learn_numbers. */
    if (guard->options.members_share_holds || number == 0)
        return;
    struct shard *shard = shard_find(guard, store_mark(guard->store).shard);
    if (!shard || !shard->clock.now.is_known ||
        number <= clock_theirs(&shard->clock.now, now) + SOON_US ||
        number <= shard_number_now(shard))
        return;
    shard_raise_numbers(shard, number);
    guard_extend(shard, shard->quarantine.reason);
}

int64_t guard_latest_number(const struct guard *guard)
{
    int64_t latest = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        if (shard->clock.now.is_known)
            shard_raise(&latest, shard_number_now(shard));
    return latest;
}

int64_t guard_lost_number(const struct guard *guard)
{
    int64_t lost = 0;
    for (const struct shard *shard = shard_find(guard, 0); shard; shard = shard_after(shard))
        shard_raise(&lost, shard->numbers.floor);
    return lost;
}

/* What comes from other shards */

/* If `from` is down, its holds may not have come with its names. Its quarantine comes along. */
void guard_migrated(struct guard *guard, unsigned to, unsigned from)
{
    struct shard *before = shard_find(guard, from);
    if (!before || !before->clock.now.is_known || before->span.seen == 0)
        return;
    struct shard *shard = shard_at(guard, to);
    int64_t now = clock_now(), left = shard_left_us(before, now);
    shard_raise(&shard->migrated_numbers, shard_number_now(before) + shard_headroom(guard));
    if (!store_shard_is_up(guard->store, from))
        left = judge_length(guard, QUARANTINE_SERVER, shard_longest_span(guard));
    if (left > 0)
        shard_raise(&shard->quarantine.inherited_until, now + left);
    guard_inherit(shard);
    guard_refresh_if_moved(shard);
    guard_refresh_if_moved(before);
}

/* The span */

struct awaiting {
    STAILQ_ENTRY(awaiting) others;
    guard_covered *done;
    void *context;
};

/* A span that is being written to the epoch with this id, and the answers that wait for it. */
struct raising {
    struct shard *shard;
    char id[EPOCH_SIZE];
    int64_t span;
    STAILQ_HEAD(, awaiting) awaiting;
};

/* NULL: the epoch has the span now. */
static const char *guard_why_not_raised(const struct raising *raising,
                                        const struct store_result *result)
{
    struct epoch epoch;
    if (result->outcome == STORE_IN_DOUBT || result->outcome == STORE_UNSENT)
        return "the connection to Redis was lost before it was certain that Redis would remember "
               "the hold";
    if (result->outcome == STORE_REPLIED && epoch_read(result->reply, &epoch) &&
        strcmp(epoch.id, raising->id) == 0 && epoch.span >= raising->span)
        return NULL;
    return "it is not certain that Redis remembers the hold: its data is other data by now, or it "
           "takes no writes";
}

/* If the epoch has changed, guard_is_still reads it again, and what this worker remembers is
 * written to the new one. */
static void guard_on_raised(void *context, const struct store_result *result)
{
    struct raising *raising = context;
    struct shard *shard = raising->shard;
    struct epoch epoch;
    if (shard->raising == raising)
        shard->raising = NULL;
    if (guard_is_still(shard, result, &epoch) && !shard->clock.has_jumped)
        shard_see_span(shard, &epoch); /* otherwise the old span counts for the quarantine */
    const char *error = guard_why_not_raised(raising, result);
    struct awaiting *next;
    for (struct awaiting *each = STAILQ_FIRST(&raising->awaiting); each; each = next) {
        next = STAILQ_NEXT(each, others);
        each->done(each->context, error);
        free(each);
    }
    free(raising);
}

void guard_write_span(struct shard *shard, int64_t span)
{
    if (store_is_closing(shard->guard->store))
        return;
    struct raising *raising = memory_checked(calloc(1, sizeof *raising));
    raising->shard = shard;
    memcpy(raising->id, shard->known.id, sizeof raising->id);
    raising->span = span;
    STAILQ_INIT(&raising->awaiting);
    shard->raising = raising;
    epoch_raise(shard, span, guard_on_raised, raising);
}

void guard_await(struct guard *guard, unsigned number, guard_covered *done, void *context)
{
    struct awaiting *awaiting = memory_checked(malloc(sizeof *awaiting));
    *awaiting = (struct awaiting){.done = done, .context = context};
    STAILQ_INSERT_TAIL(&shard_at(guard, number)->raising->awaiting, awaiting, others);
}

bool guard_covers(struct guard *guard, unsigned number, int64_t ttl_ms)
{
    struct shard *shard = shard_at(guard, number);
    int64_t now = (int64_t)uv_now(guard->options.loop) * US_PER_MS, ttl = ttl_ms * US_PER_MS;
    if (span_covers(&shard->span, ttl, now))
        return true;
    if (!shard->raising || ttl > shard->raising->span) {
        span_ask(&shard->span, ttl, now);
        guard_write_span(shard, shard->span.asked);
    }
    return guard->options.is_embedded || guard_is_off(guard) ||
           store_is_closing(guard->store); /* then no client is left */
}

void guard_raise(struct guard *guard, unsigned number, int64_t ttl_ms)
{
    if (store_shard_is_up(guard->store, number)) /* otherwise it is not asked for holds */
        guard_covers(guard, number, ttl_ms);
}
