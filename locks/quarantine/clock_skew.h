/* clock_skew.h: clocks of the nodes of a Redis Cluster that differ, so that a hold which goes with
 * its slot from one to another ends by another clock than it was made by. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_CLOCK_SKEW_H
#define BATON_LOCKS_QUARANTINE_CLOCK_SKEW_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct shard;

/* At a node whose clock is ahead, what comes there looks as if it had ended before it has: there
 * nothing is granted until all that may have come must have ended. At one whose clock is behind,
 * holds last longer; but what was forgotten on the way, such as the last number of a name that was
 * lost, would be numbered by the earlier clock: so all numbers there begin above. Less than a jump
 * (CLOCK_JUMP_US) is no difference. */

/* Names have come to a shard, or begin to, from one that is known. */
bool clock_skew_taken(struct shard *shard, const struct shard *before);

/* A shard has no record although this process knows nothing of it: it may be new, or its slots may
 * have changed, and with them the key of its record, while nobody has written another yet. For
 * DATA_LOSS_GRACE_US it is judged as if a slot had just come from any shard whose holds still run.
 */
void clock_skew_begin(struct shard *shard);

/* As succession_continue: what was known of it before, as `mine`, goes on. */
void clock_skew_continue(struct shard *shard, const struct shard *mine);

/* What has come so far does not count any more. */
void clock_skew_forgive(struct shard *shard);

/* To be called when the shard's clock was measured, and its record is known or there is none. */
bool clock_skew_judge(struct shard *shard);

/* Every second: tells where clocks have come to differ. */
void clock_skew_watch(struct guard *guard);

/* By how many milliseconds the clocks of the nodes of a Redis Cluster differ, at least; 0: by
 * nothing that matters. */
int64_t clock_skew_ms(const struct guard *guard);

#endif
