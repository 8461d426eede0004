/* shard.h: what the guard knows of one shard: an independent primary behind the store. Internal to
 * locks/quarantine/. */
#ifndef BATON_LOCKS_QUARANTINE_SHARD_H
#define BATON_LOCKS_QUARANTINE_SHARD_H

#include "locks/quarantine/clock.h"
#include "locks/quarantine/guard.h"
#include "locks/types/server_name.h"

enum horizon_of {
    HORIZON_ALL,          /* holds */
    HORIZON_UNREPLICATED, /* those that a replica of this Redis may not have */
    HORIZONS,
};

enum { IDENTITY_ID_LENGTH = 16, IDENTITY_RUN_SIZE = 48, IDENTITY_ERA_SIZE = 24 };

struct shard {
    struct guard *guard;
    unsigned number;
    struct redis_clock clock;
    char clock_run[IDENTITY_RUN_SIZE]; /* of whom that is */
    struct redis_clock clock_before;   /* the jump, where it has jumped */
    bool has_jumped;                   /* the record does not say so yet */
    int64_t slack;                     /* how long calls take longer than they should */
    int64_t ends[HORIZONS];            /* no hold that was told ends later; our time */
    int64_t written[HORIZONS];         /* what the record had of that at the last look */
    struct raising *raising;           /* the rest is on its way there: see horizon.c */
    int64_t span;                      /* no hold of late was for longer; us */
    int64_t opens; /* nothing is granted before this; Redis' time; 0: there is no quarantine */
    int64_t since; /* when that began; the same */
    int64_t floor; /* the numbers of all that was lost are below; Redis' time */
    int64_t level; /* until then they are ahead of its clock: see fence_floor.h; Redis' time */
    enum quarantine_reason reason;
    bool is_told; /* that there is a quarantine */
    /* What the record was, when it was looked at last: see identity.c. */
    char tag[STORE_TAG_SIZE]; /* in the key of its record */
    bool is_moved;            /* to another key */
    /* The key of before, where that is still to be asked whether anything was lost meanwhile. */
    char before_tag[STORE_TAG_SIZE]; /* "": it is not */
    char before_id[IDENTITY_ID_LENGTH + 1];
    bool is_known;
    bool serves;  /* some names */
    int64_t owed; /* by when holds end that it should have taken over, and may not have; our time */
    const struct shard *owes; /* whose they are; NULL: of several */
    /* Of names that have come from other shards, or begin to: see clock_skew.h and
     * slot_migration.h.
     */
    int64_t came_at;      /* the last of them; our time; 0: none have */
    int64_t came_ends;    /* by when their holds end; the same */
    int64_t came_by;      /* by how much the clock that made them is ahead of ours; the slowest */
    int64_t came_numbers; /* all of theirs are below; Redis' time */
    bool came_before;     /* or may have, from any shard, before this process was started */
    unsigned comings;     /* how often some have come, */
    unsigned asked_comings, kept_comings; /* had when it was last asked, and are at all replicas */
    bool is_confirming;                   /* that they are */
    bool is_migrating; /* slots are on their way to it or from it, or nobody may know */
    bool is_asked;     /* whether they are */
    bool is_waiting;   /* for what the other shards say of that, before its record is judged */
    int64_t connected; /* our time; */
    int64_t looked;    /* and when it last said so, or could not be asked */
    char id[IDENTITY_ID_LENGTH + 1];
    char era[IDENTITY_ERA_SIZE];
    char run[IDENTITY_RUN_SIZE];
    char history[IDENTITY_RUN_SIZE];
    int followers;   /* that its server has had at most; those that left may be promoted, too */
    int64_t heard;   /* our time; */
    int64_t adopted; /* and when all this was last known to be as it is */
    bool is_closed;  /* the gate of its connection */
    bool asking;     /* the record is being read or written */
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
