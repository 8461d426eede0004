/* clock_skew.h: what to do if the clocks of the nodes of a Redis Cluster differ, because a hold
 * that moves with its slot ends by another clock than it was made by. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_CLOCK_SKEW_H
#define BATON_LOCKS_QUARANTINE_CLOCK_SKEW_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct shard;

/* At a node whose clock is ahead, holds that arrive seem to have ended before they have: that node
 * grants nothing until all holds that may have arrived must have ended. At a node whose clock is
 * behind, holds last longer, and new numbers would be smaller than the earlier clock's: what was
 * forgotten on the way, such as the last number of a name that was lost, would not stop them. So
 * all numbers there begin above. A difference of less than CLOCK_JUMP_US does not count. */

/* Names have come to a shard, or begin to, from the shard `before`. As clock_skew_judge. */
bool clock_skew_taken(struct shard *shard, const struct shard *before);

/* The shard has no record, and this process knows nothing of it. It may be new. Or its slots have
 * changed, and with them the key of its record, and nobody has written another record yet. For
 * DATA_LOSS_GRACE_US the shard is judged as if a slot had just come from any shard whose holds
 * still run. */
void clock_skew_begin(struct shard *shard);

/* Adds what was known of the shard before, `mine`, to what it has inherited. */
void clock_skew_merge(struct shard *shard, const struct shard *mine);

/* An operator has ended the quarantine: what has come so far does not count any more. */
void clock_skew_forgive(struct shard *shard);

/* Call this when the shard's clock was measured, and its record was read. Sets a
 * quarantine or raises the numbers, if the difference of clocks asks for it. Returns whether it has
 * done so: then call identity_extend. */
bool clock_skew_judge(struct shard *shard);

/* Call this every second. Warns when clocks have come to differ. */
void clock_skew_watch(struct guard *guard);

/* By how many milliseconds the clocks of the nodes of a Redis Cluster differ at least; 0: they
 * agree well enough. */
int64_t clock_skew_ms(const struct guard *guard);

#endif
