/* shard.h: what the guard knows of one shard: an independent primary behind the store. Internal to
 * locks/quarantine/. */
#ifndef BATON_LOCKS_QUARANTINE_SHARD_H
#define BATON_LOCKS_QUARANTINE_SHARD_H

#include "locks/quarantine/clock.h"
#include "locks/quarantine/clock_skew.h"
#include "locks/quarantine/fence_floor.h"
#include "locks/quarantine/guard.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/slot_migration.h"
#include "locks/quarantine/succession.h"
#include "locks/types/server_name.h"

/* "Our time" is this process' monotonic clock, "Redis' time" the clock of the shard's server; both
 * in microseconds. */

struct clock_history {
    char run[IDENTITY_RUN_SIZE]; /* of the server whose clock is known */
    struct redis_clock before;   /* the clock before it jumped, or of the server before */
    bool has_jumped;             /* and the record in Redis does not say so yet */
};

struct shard_connection {
    int64_t opened_at;   /* our time */
    bool gate_is_closed; /* only the guard may ask Redis anything */
    bool is_asking;      /* the record is being read or replaced */
};

struct shard_quarantine {
    int64_t opens; /* nothing is granted before this; Redis' time; 0: there is no quarantine */
    int64_t since; /* when the quarantine began; Redis' time */
    enum quarantine_reason reason;
    bool is_told; /* `quarantined` was called for it */
};

struct shard {
    struct guard *guard;
    unsigned number;
    int64_t heard; /* when Redis last answered with the record; our time */
    int64_t slack; /* by how much calls may be late beyond LATE_US: grows when one was, and halves
                    * with each answer; us */
    struct redis_clock clock;
    struct clock_history clock_history;
    struct shard_connection connection;
    struct identity identity;
    struct identity_key key;
    struct inheritance inheritance;
    struct arrivals arrived;
    struct slot_migration migration;
    struct horizon horizon;
    struct fence_floor fences;
    struct shard_quarantine quarantine;
};

struct guard {
    struct store *store;
    struct guard_options options;
    char process[PROCESS_LENGTH + 1];
    struct shard **shards; /* by number; NULL: not met yet */
    unsigned count;
    bool is_apart;  /* clocks of its shards differ */
    int64_t asleep; /* how long this machine has slept since it was started; us */
};

/* The shard of this number; the first call makes it. The guard owns it. */
struct shard *shard_at(struct guard *guard, unsigned number);

/* Takes account of an answer of Redis that has told its time: Redis' clock was at `time` between
 * two moments of ours. */
void shard_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time);

/* The same where another server answers than before, whose clock is its own. */
void shard_forget_clock(struct shard *shard, int64_t sent, int64_t heard, int64_t time);

/* While this machine sleeps its monotonic clock stands still, and holds go on: moves all times of
 * the guard by as much. */
void shard_wake_all(struct guard *guard);

/* From now on nothing is granted before `opens` (Redis' time), and `quarantined` is called. With 0,
 * or a time that is past, the quarantine has ended. `is_first`: this worker was the first to
 * notice; `by`: the process that was. */
void shard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by);

/* What is left of the shard's quarantine, as far as is known; 0: there is none. */
int64_t shard_left_us(const struct shard *shard, int64_t now);
int64_t shard_left_ms(const struct shard *shard); /* rounded up; takes NULL */

#endif
