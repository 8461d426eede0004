/* shard.h: what the guard knows of one shard and of its epoch (guard.h). Internal to locks/. */
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
    bool is_moved;    /* another slot is the shard's first, and so the key of the epoch another: */
    bool slot_gained; /* a slot has come before the first one; else the first one has left */
    int64_t adopted;  /* when all this was last known to be so; our time */
    int64_t turns;    /* when the window of the span ends; Redis' time */
    char id[EPOCH_SIZE];
    char run[RUN_SIZE];     /* of the node that has the data */
    char history[RUN_SIZE]; /* of its replication */
    int followers; /* the most replicas that node has had: those that left may be promoted, too */
    char tag[STORE_TAG_SIZE]; /* in the key of the epoch: see guard_epoch_key */
};

struct shard_clock {
    struct redis_clock now;
    char run[RUN_SIZE];        /* of the node whose clock is known */
    struct redis_clock before; /* the clock before it jumped, or of the node before */
    bool has_jumped;           /* and the epoch does not say so yet */
    int64_t answered_at;       /* when Redis last gave its time; our time */
    int64_t slack; /* a call may be so much later than LATE_US: halves with each answer; us */
};

struct shard_quarantine {
    int64_t opens; /* nothing is granted before this; Redis' time. It stays until the epoch was
                    * read after it, since another worker may have made it longer; 0: none */
    int64_t since; /* when the quarantine began; Redis' time */
    enum quarantine_reason reason;
    int64_t inherited_until; /* nothing is granted before this, of what has come from other shards;
                                our time */
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
    int64_t migrated_numbers; /* at least every number of names that have come from other shards */
    struct shard_quarantine quarantine;
};

struct guard {
    struct store *store;
    struct guard_options options;
    char process[PROCESS_LENGTH + 1];
    struct shard **shards; /* by number */
    unsigned count;
    int64_t began;  /* when the first shard was connected, our time; 0: none was */
    int64_t asleep; /* how long this machine has slept since it was started; us */
};

/* shard.c: the shard of this number: the first call makes it and those before it, and the guard
 * owns them; or NULL if there is none; and the next one. */
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

/* When the question was sent that the shard has answered last; our time. */
int64_t shard_sent(const struct shard *shard);

/* Redis' clock was at `time` between our moment `sent` and now; it is the clock of another node
 * than before, or not. Returns whether the same clock has jumped. */
bool shard_measure(struct shard *shard, int64_t sent, int64_t time, bool is_another);

/* While this machine sleeps our clock stands still, and holds go on: moves all times by as much. */
void shard_wake_all(struct guard *guard);

/* New numbers are greater by this than all that were seen. A node that was replaced may go on for
 * store_primary_lease_ms, with a clock that has gone faster than is known here. */
int64_t shard_headroom(const struct guard *guard);

/* At least every number that was given until now; and from now on, all new numbers are at least
 * `number`. */
int64_t shard_number_now(const struct shard *shard);
void shard_raise_numbers(struct shard *shard, int64_t number);

/* The epoch was just read, or written. */
void shard_see_span(struct shard *shard, const struct epoch *epoch);

/* No hold that may still run has a longer TTL, as far as is known; us. Of all shards: to another
 * shard of a Cluster holds come with their slots, and the members of a quorum have the same. */
int64_t shard_longest_span(const struct guard *guard);

/* From now on nothing is granted before `opens` (Redis' time), and `quarantined` is called. With 0,
 * or a time that is past, the quarantine has ended. `is_first`: this worker was the first to
 * notice; `by`: the process that was. */
void shard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by);

/* What is left of the shard's quarantine, as far as is known; 0: there is none. */
int64_t shard_left_us(const struct shard *shard, int64_t now);
int64_t shard_left_ms(const struct shard *shard); /* rounded up; takes NULL */

/* epoch_calls.c: each of the following asks the shard ahead of all other calls, also while its gate
 * is closed. `done` gets the epoch as it is then; its context is the shard, unless one is given. A
 * store that is closing is not asked. */

void epoch_ask(struct shard *shard, store_done *done);

/* Whether the key of the epoch has changed, since another slot is the shard's first. */
bool epoch_has_moved(const struct shard *shard);

/* These write only if the epoch still has the id that is known here. */
void epoch_raise(struct shard *shard, int64_t span, store_done *done, void *context);
void epoch_extend(struct shard *shard, enum quarantine_reason reason, store_done *done);

/* Replaces the epoch `found` by what is known of the shard, if Redis still has that epoch: with a
 * new id, unless one is `kept`. `span`: holds that may still run are no longer. */
void epoch_begin(struct shard *shard, const struct epoch *found, const char *kept, int64_t opens,
                 enum quarantine_reason reason, int64_t span, store_done *done);

/* Ends the quarantine of the shard early, whichever worker has begun it, by a new id at random. The
 * reply has that id, or another one if there was no quarantine. */
void epoch_make_id(char id[EPOCH_SIZE]);
void epoch_end(struct shard *shard, const char *id, store_done *done, void *context);

/* judge.c: takes account of an epoch that was just read, by whose answer the clock was measured:
 * adopts it, or replaces it if this worker is the first to notice a loss. Sets the quarantine, and
 * opens the gate of the shard when its epoch is settled. */
void judge_epoch(struct shard *shard, const struct epoch *epoch);

/* How long the quarantine is if data is lost now for this reason, and no hold is longer; us. */
int64_t judge_length(const struct guard *guard, enum quarantine_reason reason, int64_t span);
/* What is `inherited_until`, by Redis' clock; 0: nothing, or the clock is not known yet. */
int64_t judge_inherited_until(const struct shard *shard);

/* guard.c: a store_done for the questions above: takes account of the answer. `context` is the
 * shard. */
void guard_on_epoch(void *context, const struct store_result *result);

/* The shard may be used: calls `serve`. */
void guard_open_gate(struct shard *shard);

/* Both write to the epoch, if it still is the one that is known here: the end of the quarantine
 * and the numbers, and the span. */
void guard_extend(struct shard *shard, enum quarantine_reason reason);
void guard_write_span(struct shard *shard, int64_t span);

#endif
