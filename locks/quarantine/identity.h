/* identity.h: the identity of each shard's data, by which the guard knows that Redis has lost data.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_IDENTITY_H
#define BATON_LOCKS_QUARANTINE_IDENTITY_H

#include "locks/types/quarantine.h"
#include "redis/store.h"

struct guard;
struct shard;

/* The identity is a hash in Redis beside the locks (identity_record.h): a random id of the data,
 * its era, the run of the server that has it, the expiry horizon, and the end of a quarantine. It
 * is read on each new connection before any other use of that connection, and then every second.
 *
 * - This process knows an id, and the record is gone: the data was lost.
 * - The record is of another run than the server that answers. That server has started with data of
 *   unknown age, or it is a replica that was promoted and may lack what was not confirmed. If Redis
 *   keeps all that it has ever answered (`keeps_all`), nothing is lost.
 * - Redis' clock has jumped: by that clock, holds have ended that still run, or will end late.
 *
 * The server that notices first writes a record of a new era, with the end of the quarantine. A
 * server that finds a new era goes by it, and makes the quarantine longer if it knows of holds that
 * end later. If there is no record, and no server knows of one, nothing was lost. */

/* The shard has a new connection: closes its gate until its record was looked at. */
void identity_connected(struct guard *guard, unsigned number);

/* Call this every second: looks at all records, and ends the quarantines whose time is over. */
void identity_check(struct guard *guard);

/* A store_done for the questions in identity_record.h: takes account of the answer. `context` is
 * the shard. */
void identity_hear(void *context, const struct store_result *result);

/* Writes the end of the quarantine and the fence floor to the record, if it still is the record
 * that is known here. */
void identity_extend(struct shard *shard);

/* The same of a quarantine for this reason, also if it has ended here. */
void identity_extend_because(struct shard *shard, enum quarantine_reason reason);

/* Names of the shard `from` have come to the shard `to`, and with them the rest of its quarantine.
 * If `from` is away, its holds may not have come with them. */
void identity_taken(struct guard *guard, unsigned to, unsigned from);

/* The shard's clock has jumped: see shard_measure. */
void identity_note_jump(struct shard *shard);

#endif
