/* guard.h: keeps grants from being made while Redis may have lost holds that still run: what every
 * script is stamped with, and until when each shard of the store is in quarantine. Internal to
 * locks/. */
#ifndef BATON_LOCKS_GUARD_H
#define BATON_LOCKS_GUARD_H

#include "base/slice.h"
#include "locks/quarantine/clock.h"
#include "locks/quarantine/quarantine.h"
#include "locks/types/stamp.h"
#include "redis/store.h"

struct locks;

/* The times of a shard's Redis and of this process, which is its monotonic clock, are microseconds.
 *
 * How it is known until when there may be holds: see horizon.h; that data was lost: identity.h. */

enum horizon_of {
    HORIZON_ALL,          /* holds */
    HORIZON_UNREPLICATED, /* those that a replica of this Redis may not have */
    HORIZONS,
};

enum { IDENTITY_ID_LENGTH = 16, IDENTITY_RUN_SIZE = 48, IDENTITY_ERA_SIZE = 24 };

struct shard {
    struct locks *locks;
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
    struct shard **shards; /* by number; NULL: not met yet */
    unsigned count;
    bool is_apart;  /* clocks of its shards differ */
    int64_t asleep; /* how long this machine has slept since it was started; us */
};

/* The event `stamp` of the store. */
void guard_stamp(const struct locks *locks, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH]);

struct shard *guard_shard(struct locks *locks, unsigned number);
void guard_close(struct locks *locks);

/* A script came too late, as its `error` says: either it was slow, or the clock has jumped. */
void guard_late(struct locks *locks, unsigned number, const char *error);

/* Takes account of an answer of Redis that has told its time. */
void guard_measure(struct shard *shard, int64_t sent, int64_t heard, int64_t time);

/* The same where another server answers than before, whose clock is its own. */
void guard_forget_clock(struct shard *shard, int64_t sent, int64_t heard, int64_t time);

/* Where this machine has slept, so that its monotonic clock stood still, holds have gone on. */
void guard_wake(struct locks *locks);

/* From now on nothing is granted before `opens`, and it is told; or, for 0, or where that is past,
 * everything as ever. */
void guard_set_quarantine(struct shard *shard, int64_t opens, enum quarantine_reason reason,
                          bool is_first, const char *by);

/* What is left of its quarantine, as far as is known. */
int64_t guard_left_us(const struct shard *shard, int64_t now);

/* Whether the shard of this key is in quarantine. */
bool guard_is_closed(const struct locks *locks, struct slice key);

#endif
