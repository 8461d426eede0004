/* slot_migration.h: whether a replica of a Redis Cluster may lack what its primary has answered
 * although all of it was confirmed, since slots have moved. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H
#define BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* - While a slot is on its way, some of its holds are at the node that it goes to. Only the two
 *   nodes know that; a replica that is promoted meanwhile takes the names for free. The other node
 *   goes on saying that the slot comes to it, until somebody mends that: so all are asked before
 *   the record of one that was promoted is judged.
 * - What has come to a node by a move nobody has confirmed there: so that is done afterwards, and
 *   until then a replica of it may lack that. */

/* Names have come to it, or begin to. */
void slot_migration_taken(struct shard *shard);

/* Every second, of a shard that is known: confirms what has come. */
void slot_migration_settle(struct shard *shard);

/* Whether the others have to be heard before the shard is judged: asks them, and has the shard
 * looked at again when they have answered. */
bool slot_migration_waits(struct shard *shard, void (*look)(struct shard *shard));

/* As clock_skew_continue. */
void slot_migration_continue(struct shard *shard, const struct shard *mine);

/* Whether a replica of this shard, which has followed it, may lack what was confirmed. */
bool slot_migration_may_lose(const struct shard *shard);

#endif
