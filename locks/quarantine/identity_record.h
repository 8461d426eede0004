/* identity_record.h: reads and writes the record in Redis of a shard's data identity. Internal to
 * locks/. */
#ifndef BATON_LOCKS_QUARANTINE_IDENTITY_RECORD_H
#define BATON_LOCKS_QUARANTINE_IDENTITY_RECORD_H

#include "locks/quarantine/shard.h"
#include "locks/types/name.h"

/* identity.h says what the record is for, scripts/epoch.lua names its fields in Redis. Times
 * are by Redis' clock, in microseconds. */
struct identity_record {
    int64_t time;                    /* when it was read */
    char id[IDENTITY_ID_LENGTH + 1]; /* "": there is no record */
    char era[IDENTITY_ERA_SIZE];
    char run[IDENTITY_RUN_SIZE];
    char history[IDENTITY_RUN_SIZE];
    int64_t ends[HORIZONS];
    int64_t span;
    int64_t opens;
    char reason[16];
    int64_t floor;
    int64_t level;
    char by[PROCESS_LENGTH + 1];   /* the process that has written it */
    int64_t since;                 /* when the quarantine began that `opens` ends */
    char ended[IDENTITY_ERA_SIZE]; /* the era that an operator began by ending a quarantine, the
                                    * last time; or "" */
    int followers;                 /* replicas of the server that has the data; 0: not asked */
};

/* Writes the key of the record. In a Cluster the record has to lie in a slot of its shard: `tag` is
 * that of store_first_tag. */
struct slice identity_record_key(const struct guard *guard, const char *tag, char text[KEY_LENGTH]);

/* False: Redis has answered something else. */
bool identity_record_read(const struct value *reply, struct identity_record *ret);

/* Why there is, or was, a quarantine. */
enum quarantine_reason identity_record_reason(const struct identity_record *record);

/* Whether an operator began its era by ending the quarantine of the era before. */
bool identity_record_is_ended(const struct identity_record *record);

/* Whether these are two different runs of a server. False: they are the same, or one is unknown. */
bool identity_record_is_another_run(const char *one, const char *other);

/* Whether the server that answers has been a replica, in the same run, since its history was
 * `history`: then it has the data that it was given as a replica. A primary without replicas
 * renames its history after a while, too, but follows no other. */
bool identity_record_was_replica(const char *history, const struct store_peer *peer);

/* Whether the answer to one of the calls below has the record that is known of the shard. */
bool identity_record_is_still(const struct shard *shard, const struct store_result *result);

/* Each of the following asks the shard ahead of all other calls, also while its gate is closed.
 * `done` gets the record as it is then; its context is the shard, unless one is given. A store that
 * is closing is not asked. */

void identity_record_ask(struct shard *shard, store_done *done);

/* The same for a shard that may have no slot, or none that Redis serves now, and so no record: the
 * answer is its time, and what slot_migration.h reads. */
void identity_record_ask_without(struct shard *shard, store_done *done);

/* After the key of the record has changed: asks for the record under the old key, to know what has
 * happened until then. False: there is no need, or that slot has left the shard. */
bool identity_record_ask_before(struct shard *shard, store_done *done);

/* Whether the key of the record has changed, since another slot is the shard's first. */
bool identity_record_has_moved(const struct shard *shard);

/* These write only if the record still is the one that is known here. The expiry horizon: */
void identity_record_raise(struct shard *shard, store_done *done, void *context);

/* The end of the quarantine and its reason, and the fence floor: */
void identity_record_extend(struct shard *shard, enum quarantine_reason reason, store_done *done);

/* Replaces the record `found` by what is known of the shard, if Redis still has that record. With
 * `is_of_another`, the record that was found is another shard's: this one gets an id of its own. */
void identity_record_replace(struct shard *shard, const struct identity_record *found,
                             enum quarantine_reason reason, bool is_of_another, store_done *done);

/* Ends the quarantine of the shard early, whichever server has begun it. A new `era` tells all
 * servers that losses before it no longer count. The reply has that era, or another one if there
 * was no quarantine. A quarantine that is known here may not be in the record yet. */
void identity_record_end(struct shard *shard, const char *era, store_done *done, void *context);

/* Makes a new era at random. */
void identity_record_make_era(char era[IDENTITY_ERA_SIZE]);

#endif
