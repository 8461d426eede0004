/* identity.h: the record of each shard of the store, by which it is known that Redis has lost data.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_IDENTITY_H
#define BATON_LOCKS_QUARANTINE_IDENTITY_H

#include "redis/store.h"

struct guard;
struct shard;

/* The record is a hash beside the locks: a random id of this data, its era, the run of the server
 * that has it, until when there may be holds, and of a quarantine, until when it is. It is read on
 * each new connection, before that is used for anything else, and every second.
 *
 * - No record, and this process remembers one: the data was lost.
 * - It belongs to another run than the one that answers: that has come up with data of which nobody
 *   knows how old it is; or it is a replica that was promoted, and may lack what was not confirmed;
 *   or it keeps all that it has ever answered on disk (`keeps_all`), and then nothing is lost.
 * - Redis' clock has jumped: holds have ended by it that still run, or will end late.
 *
 * Whoever notices writes a record of a new era, which says until when the quarantine is; whoever
 * finds one of another era than it remembers goes by that, and makes it longer where it remembers
 * holds that end later. Where nobody remembers anything, and no record is there, nothing was lost.
 */

/* The shard has a new connection: nobody else uses it before its record was looked at. */
void identity_connected(struct guard *guard, unsigned number);

/* Every second: looks at all records, and whether a quarantine has ended. */
void identity_check(struct guard *guard);

/* Looks at one record, where it is not being asked. */
void identity_look(struct shard *shard);

/* Takes account of what identity_record.h has been answered of a shard. */
void identity_hear(struct shard *shard, const struct store_result *result);

/* Writes until when there is a quarantine, where the record is still the one that is known. */
void identity_extend(struct shard *shard);

/* Names of one shard have come to another, and with them what there is of its quarantine; or, where
 * it is away, nothing of its holds. */
void identity_taken(struct guard *guard, unsigned to, unsigned from);

/* Its clock has jumped. */
void identity_note_jump(struct shard *shard);

#endif
