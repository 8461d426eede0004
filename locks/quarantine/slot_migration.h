/* slot_migration.h: whether a replica of a Redis Cluster may lack holds that were confirmed,
 * because slots have moved. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H
#define BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H

#include <stdbool.h>

struct shard;

/* - While a slot moves, some of its holds are at the node that it moves to. Only the two nodes know
 *   that: if a replica is promoted meanwhile, it takes the names for free. The other node goes on
 *   saying that the slot comes to it until an operator repairs that. So all nodes are asked before
 *   the record of a promoted one is judged.
 * - No replica has confirmed what a node has got by a move. The guard has it confirmed afterwards;
 *   until then a replica of that node may lack it. */

/* Names have come to the shard, or begin to. */
void slot_migration_taken(struct shard *shard);

/* Call this every second for a shard whose record is known: has what has come confirmed. */
void slot_migration_settle(struct shard *shard);

/* Whether the other shards have to answer before this one is judged. If so, asks them, and calls
 * `look` when they have answered. */
bool slot_migration_waits(struct shard *shard, void (*look)(struct shard *shard));

/* Keeps what was known of the shard before, `mine`, of its moves. */
void slot_migration_keep(struct shard *shard, const struct shard *mine);

/* Whether a replica that has followed this shard may lack what was confirmed. */
bool slot_migration_may_lose(const struct shard *shard);

#endif
