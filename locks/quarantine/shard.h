/* shard.h: the guard's state of one shard and of its epoch (guard.h). Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SHARD_H
#define BATON_LOCKS_QUARANTINE_SHARD_H

#include "locks/quarantine/clock.h"
#include "locks/quarantine/epoch.h"
#include "locks/quarantine/guard.h"
#include "locks/quarantine/numbers.h"
#include "locks/quarantine/span.h"

struct shard_connection {
    bool gate_is_closed; /* only the guard may ask Redis anything */
    bool may_open;       /* its epoch is known, but judge_waits_at_start */
    bool is_asking;      /* the epoch is being read or replaced */
};

/* What the epoch of a shard said when it was last adopted. */
struct shard_epoch {
    bool is_known;
    bool is_moved;    /* the shard has another first slot, so the epoch has another key: */
    bool slot_gained; /* it gained that slot; otherwise the old first slot has left */
    int64_t adopted;  /* when it was last known to be so; our time */
    int64_t turns;    /* when the window of the span ends; Redis' time */
    char id[EPOCH_SIZE];
    char run[RUN_SIZE];     /* the run id of the node that has the data */
    char history[RUN_SIZE]; /* its replication id */
    int followers; /* the most replicas of that node so far: those that left may be promoted, too */
    char tag[STORE_TAG_SIZE]; /* in the key of the epoch: see guard_epoch_key */
};

struct shard_clock {
    struct redis_clock now;
    char run[RUN_SIZE];        /* the run id of the node with the clock `now` */
    struct redis_clock before; /* the clock before the jump, or the earlier node's */
    bool has_jumped;           /* the clock has jumped, and the epoch does not say so yet */
    int64_t answered_at;       /* when Redis last gave its time; our time */
    int64_t slack; /* how much later than LATE_US a call may run; halves with each answer; us */
};

struct shard_quarantine {
    int64_t opens; /* no grants before this; Redis' time. Kept until the epoch was read after it,
                    * since another worker may have made it later; 0: none */
    int64_t since; /* when the quarantine began; Redis' time */
    enum quarantine_reason reason;
    int64_t inherited_until; /* no grants before this, for names from other shards; our time */
    bool is_reported;        /* `quarantined` was called for it */
};

struct shard {
    struct guard *guard;
    unsigned number;
    struct shard_clock clock;
    struct shard_connection connection;
    struct shard_epoch known;
    struct span span;
    struct raising *raising; /* the write of the span that is under way; NULL: none is */
    struct numbers numbers;
    int64_t migrated_numbers; /* at least every number of the names that came from other shards */
    struct shard_quarantine quarantine;
};

struct guard {
    struct store *store;
    struct guard_options options;
    char process[PROCESS_LENGTH + 1];
    struct shard **shards; /* by number */
    unsigned count;
    int64_t began;  /* when the first shard was connected, our time; 0: none was */
    int64_t asleep; /* how long this machine has slept since its start; us */
};

/* shard.c: shard_at makes the shard and those before it if needed; the guard owns them. The others
 * return NULL if there is none. */
struct shard *shard_at(struct guard *guard, unsigned number);
struct shard *shard_find(const struct guard *guard, unsigned number);
struct shard *shard_after(const struct shard *shard);

static inline bool guard_is_off(const struct guard *guard)
{
    return guard->options.quarantine_ms == QUARANTINE_OFF;
}

static inline void shard_raise(int64_t *value, int64_t least)
{
    if (*value < least)
        *value = least;
}

/* When the call was sent that the shard answered last; our time. */
int64_t shard_sent(const struct shard *shard);

/* Redis' clock was at `time` between our moment `sent` and now. `is_another`: it is another node's
 * clock than before. Returns whether the same clock has jumped. */
bool shard_measure(struct shard *shard, int64_t sent, int64_t time, bool is_another);

/* Moves all our times by how long this machine has slept: our clock stood still, and holds went
 * on. */
void shard_wake_all(struct guard *guard);

/* How far new numbers must exceed all known ones; us. A replaced node may go on for
 * store_primary_lease_ms, with a clock that has run faster than this worker knows. */
int64_t shard_headroom(const struct guard *guard);

/* Returns at least every number given until now. */
int64_t shard_number_now(const struct shard *shard);

/* Makes all new numbers at least `number` from now on. */
void shard_raise_numbers(struct shard *shard, int64_t number);

/* The epoch was just read, or written. */
void shard_see_span(struct shard *shard, const struct epoch *epoch);

/* The longest TTL of holds that may still run, as far as this worker knows; us. Counts all shards:
 * in a Cluster holds move to other shards with their slots, and members of a quorum have the same
 * holds. */
int64_t shard_longest_span(const struct guard *guard);

/* Grants nothing before `opens` (Redis' time) from now on, and calls `quarantined`. With 0, or a
 * past time, the quarantine has ended. `is_first`: this worker noticed first; `by`: the process
 * that noticed first. */
void shard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by);

/* What remains of the shard's quarantine, as far as this worker knows; 0: there is none. */
int64_t shard_left_us(const struct shard *shard, int64_t now);
int64_t shard_left_ms(const struct shard *shard); /* rounded up; takes NULL */

/* epoch_calls.c: each call asks the shard ahead of all other calls, even while its gate is closed.
 * `done` gets the epoch as it is then; its context is the shard, unless one is given. A closing
 * store is not asked. */

void epoch_ask(struct shard *shard, store_done *done);

/* Whether the epoch's key has changed, because the shard has another first slot. */
bool epoch_has_moved(const struct shard *shard);

/* These write only if the epoch still has the id that is known here. */
void epoch_raise(struct shard *shard, int64_t span, store_done *done, void *context);
void epoch_extend(struct shard *shard, enum quarantine_reason reason, store_done *done);

/* Replaces the epoch `found` with what this worker knows, if Redis still has that epoch: with a new
 * id, or with the one `kept`. No hold that may still run is longer than `span`. */
void epoch_begin(struct shard *shard, const struct epoch *found, const char *kept, int64_t opens,
                 enum quarantine_reason reason, int64_t span, store_done *done);

/* Ends the shard's quarantine early, even if another worker began it, with a new random id. The
 * reply has that id, or another one if there was no quarantine. */
void epoch_make_id(char id[EPOCH_SIZE]);
void epoch_end(struct shard *shard, const char *id, store_done *done, void *context);

/* judge.c: handles an epoch that was just read, after its answer was used to measure the clock:
 * adopts it, or replaces it if this worker is the first to notice a loss. Sets the quarantine, and
 * opens the shard's gate when its epoch is settled. */
void judge_epoch(struct shard *shard, const struct epoch *epoch);

/* How long the quarantine is after a loss for this reason, if no hold is longer than `span`; us. */
int64_t judge_length(const struct guard *guard, enum quarantine_reason reason, int64_t span);
/* `inherited_until` by Redis' clock; 0: none, or the clock is not known yet. */
int64_t judge_inherited_until(const struct shard *shard);

/* guard.c: a store_done for the calls above: handles the answer. `context` is the shard. */
void guard_on_epoch(void *context, const struct store_result *result);

/* The shard may be used: calls `serve`. */
void guard_open_gate(struct shard *shard);

/* Both write to the epoch, if it still is the one known here: guard_extend the quarantine's end and
 * the numbers, guard_write_span the span. */
void guard_extend(struct shard *shard, enum quarantine_reason reason);
void guard_write_span(struct shard *shard, int64_t span);

#endif
