/* horizon.h: the expiry horizon: the time by which every hold has ended that a client was told of.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_HORIZON_H
#define BATON_LOCKS_QUARANTINE_HORIZON_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct shard;

/* Each shard has a horizon, here and in its record in Redis (identity_record.h). Before a client is
 * told of a hold that ends later, the horizon is moved on, here and there: beyond the end of the
 * hold by an eighth of its TTL, 30 s at most, so that this happens seldom. The answer waits until
 * Redis says that the record has it. So every server that comes later knows the horizon, too, as
 * long as Redis or one of the servers that moved it remembers it.
 *
 * Holds that Redis refuses do not move the horizon. Nor does a grant whose answer was lost: no
 * client relies on it, unless it asks again by its token and is told then.
 *
 * No answer waits if there are no quarantines, or if Redis keeps all its data over a restart. */

/* A hold was made just now, or renewed, and its client is told of it when `replicas` have it.
 * Returns whether the horizon is late enough. If not, it is being moved. */
bool horizon_covers(struct guard *guard, unsigned number, int64_t ttl_ms, int64_t replicas);

/* Runs once when the horizon has moved, from the loop and never before horizon_await has returned.
 * With an `error`, for clients, nobody knows whether Redis has it. */
typedef void horizon_done(void *context, const char *error);

/* Call this right after horizon_covers has returned false. */
void horizon_await(struct guard *guard, unsigned number, horizon_done *done, void *context);

/* Moves the horizon of a shard, or of all, before a hold is asked for. No answer waits for that. */
void horizon_move(struct guard *guard, unsigned number, int64_t ttl_ms);
void horizon_move_all(struct guard *guard, int64_t ttl_ms);

/* Names may have gone from one shard to another with their holds: gives all shards the latest
 * horizon of any. */
void horizon_level(struct guard *guard);

/* Writes the horizon to the record, whether it has moved or not. */
void horizon_write(struct shard *shard);

#endif
