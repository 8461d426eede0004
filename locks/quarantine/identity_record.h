/* identity_record.h: the record of a shard of the store, by which its data is known, as Redis has
 * it: how it is read and written. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_IDENTITY_RECORD_H
#define BATON_LOCKS_QUARANTINE_IDENTITY_RECORD_H

#include "locks/quarantine/shard.h"

/* What it is for, identity.h says; its fields in Redis, scripts/alone/epoch.lua. Times are by
 * Redis' clock. */
struct identity_record {
    int64_t time;                    /* when it was read */
    char id[IDENTITY_ID_LENGTH + 1]; /* "": there is none */
    char era[IDENTITY_ERA_SIZE];
    char run[IDENTITY_RUN_SIZE];
    char history[IDENTITY_RUN_SIZE];
    int64_t ends[HORIZONS];
    int64_t span;
    int64_t opens;
    char reason[16];
    int64_t floor;
    int64_t level;
    char by[PROCESS_LENGTH + 1];
    int64_t since;                 /* when the quarantine began that `opens` ends */
    char ended[IDENTITY_ERA_SIZE]; /* the era that somebody has begun to end a quarantine, the last
                                    time; or "" */
    int followers; /* replicas that follow the server that has it; 0 where that was not asked */
};

/* False where Redis has answered something else. */
bool identity_record_read(const struct value *reply, struct identity_record *ret);

/* Why there is, or was, a quarantine. */
enum quarantine_reason identity_record_reason(const struct identity_record *record);

/* Whether its era is one that was begun to end the quarantine of the one before. */
bool identity_record_is_ended(const struct identity_record *record);

/* Whether these are two runs of a server; false where one of them is not known. */
bool identity_record_is_another_run(const char *one, const char *other);

/* Whether the server that answers was a replica since its history was this one, though in the same
 * run: it has the data that it was given then. A primary that has had no replicas for long gives
 * its history another name, too, but follows no other. */
bool identity_record_was_replica(const char *history, const struct store_peer *peer);

/* Whether what one of those below was answered is the record that is known of the shard. */
bool identity_record_is_still(const struct shard *shard, const struct store_result *result);

/* Each of these asks the shard in front of all else, also while its gate is closed; `done` gets the
 * record as it is then, and as its context the shard, unless there is another. Nothing is asked of
 * a store that is closing. */

void identity_record_ask(struct shard *shard, store_done *done);

/* The same of a shard that may have no slot, or none that Redis serves now. It has no record to be
 * told of: the answer is its time, and what slot_migration.h reads. */
void identity_record_ask_without(struct shard *shard, store_done *done);

/* Where the key of the record has changed: asks for what is under the one of before, so that what
 * has happened until then is known from there. False where there is no need for it, or no way: that
 * slot has left this shard. */
bool identity_record_ask_before(struct shard *shard, store_done *done);

/* Whether the slot that the record lies in is another one now. */
bool identity_record_has_moved(const struct shard *shard);

/* These write where the record still is the one that is known here. How long there may be holds: */
void identity_record_raise(struct shard *shard, store_done *done, void *context);

/* Until when its quarantine is, and why; and what its numbers are above: */
void identity_record_extend(struct shard *shard, enum quarantine_reason reason, store_done *done);

/* Makes what is known of this shard the record, if it still is the one that was found; under a name
 * of its own, where that is another shard's. */
void identity_record_replace(struct shard *shard, const struct identity_record *found,
                             enum quarantine_reason reason, bool is_of_another, store_done *done);

/* Ends the quarantine of the shard before its time, whoever has begun it, by an `era` of which all
 * know that what was lost before it does not count any more. The reply has that era, or another one
 * where there was no quarantine. One that is known here need not be in the record yet. */
void identity_record_end(struct shard *shard, const char *era, store_done *done, void *context);

/* For a new era. */
void identity_record_make_era(char era[IDENTITY_ERA_SIZE]);

#endif
