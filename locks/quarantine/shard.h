/* shard.h: what the guard knows of one shard: an independent primary behind the store. Internal to
 * locks/quarantine/. */
#ifndef BATON_LOCKS_QUARANTINE_SHARD_H
#define BATON_LOCKS_QUARANTINE_SHARD_H

#include "locks/quarantine/clock.h"
#include "locks/quarantine/guard_options.h"
#include "locks/types/server_name.h"
#include "redis/store.h"

/* "Our time" is this process' monotonic clock, "Redis' time" the clock of the shard's server; both
 * in microseconds. */

enum { IDENTITY_ID_LENGTH = 16, IDENTITY_RUN_SIZE = 48, IDENTITY_ERA_SIZE = 24 };

/* See clock.h. */
struct clock_history {
    char run[IDENTITY_RUN_SIZE]; /* of the server whose clock is known */
    struct redis_clock before;   /* the clock before it jumped, or of the server before */
    bool has_jumped;             /* and the record in Redis does not say so yet */
};

struct shard_connection {
    int64_t opened_at;   /* our time */
    bool gate_is_closed; /* only the guard may ask Redis anything */
    bool may_open;       /* its record is known, but succession_waits_at_start */
    bool is_asking;      /* the record is being read or replaced */
};

/* What the record of a shard said when it was last adopted. */
struct identity {
    bool is_known;
    bool serves;        /* the shard serves some names */
    int64_t adopted_at; /* when all this was last known to be so; our time */
    char id[IDENTITY_ID_LENGTH + 1];
    char era[IDENTITY_ERA_SIZE];
    char run[IDENTITY_RUN_SIZE];     /* of the server that has the data */
    char history[IDENTITY_RUN_SIZE]; /* of its replication */
    int followers; /* the most replicas that server has had: those that left may be promoted, too */
};

/* Where the record lies: in a Cluster its key has a tag, so that a slot of the shard has it. When
 * the first slot of the shard changes, so does the tag. */
struct identity_key {
    char tag[STORE_TAG_SIZE];
    bool is_moved;                   /* the record under the new key was not adopted yet */
    char before_tag[STORE_TAG_SIZE]; /* of the old key, until that record has said whether data
                                      * was lost meanwhile; "": no need to ask */
    char before_id[IDENTITY_ID_LENGTH + 1];
};

/* Holds that this shard should have taken over from others that are away, and may not have. */
struct inheritance {
    int64_t ends;             /* when the last of them ends; our time; 0: there are none */
    const struct shard *from; /* NULL: several */
};

/* What has come to a shard with slots of others, or begins to. */
struct arrivals {
    int64_t at;          /* when the last of it came; our time; 0: nothing has */
    int64_t ends;        /* when the last of its holds ends; our time */
    int64_t clock_ahead; /* by how much the clock that it was made by is ahead of ours; the slowest
                          * of several; us */
    int64_t numbers;     /* all its numbers are below; Redis' time */
    bool is_supposed;    /* something may have come before this process started, from any shard */
};

/* See slot_migration.h. */
struct slot_migration {
    /* The record of the shard is not judged before the others have said whether slots are on their
     * way: this is called then. NULL: it does not wait for that. */
    void (*look)(struct shard *shard);
    bool is_under_way;           /* slots are on their way to the shard or from it, or may be */
    bool is_asked;               /* the shard is being asked whether they are */
    bool is_confirming;          /* what has arrived is being confirmed by replicas */
    int64_t asked_at;            /* when it last answered, or could not be asked; our time */
    unsigned arrivals;           /* how often slots have come to it, */
    unsigned asked_arrivals;     /* how often they had when it was last asked, */
    unsigned confirmed_arrivals; /* and how many of those all replicas have */
};

/* See horizon.h. */
enum horizon_kind {
    HORIZON_ALL,          /* of all holds */
    HORIZON_UNREPLICATED, /* of those that a replica of this Redis may not have */
    HORIZONS,
};

struct horizon {
    int64_t ends[HORIZONS]; /* every hold that a client was told of has ended by then; our time */
    int64_t written[HORIZONS]; /* what the record had of that when it was last read; our time */
    int64_t span;              /* no recent hold lasts longer; us */
    struct raising *raising;   /* the write that is under way; NULL: none is */
};

/* See fence_floor.h. Redis' time, in microseconds. */
struct fence_floor {
    int64_t floor; /* at least every number that was given and then lost */
    int64_t level; /* until the clock has reached this, numbers are ahead of it */
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
    int64_t began;  /* when the first shard was connected, our time; 0: none was */
    int64_t asleep; /* how long this machine has slept since it was started; us */
};

/* The shard of this number; the first call makes it. The guard owns it. */
struct shard *shard_at(struct guard *guard, unsigned number);

/* The same; NULL: it was not met yet. */
static inline struct shard *shard_find(const struct guard *guard, unsigned number)
{
    return number < guard->count ? guard->shards[number] : NULL;
}

/* The shards that were met, by their numbers; NULL: there are no more. */
struct shard *shard_first(const struct guard *guard);
struct shard *shard_after(const struct shard *shard);

/* Makes *value at least `least`. */
static inline void shard_raise(int64_t *value, int64_t least)
{
    if (*value < least)
        *value = least;
}

/* The record of the shard was looked at: opens the gate of its connection, and calls `serve`. */
void shard_open_gate(struct shard *shard);

/* Takes account of an answer of Redis that has told its time: Redis' clock was at `time` between
 * two moments of ours. Returns whether the clock has jumped: then call
 * identity_note_jump. */
bool shard_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time);

/* The same if another server answers than before, which has its own clock. */
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
