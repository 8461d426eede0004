/* fence_floor.h: a floor for new numbers (fences and versions) of a shard: at least every number
 * ever given, whatever Redis loses. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_FENCE_FLOOR_H
#define BATON_LOCKS_QUARANTINE_FENCE_FLOOR_H

#include <stdint.h>

struct guard;
struct shard;

/* A new number of a name is the time by Redis' clock, or the name's last number and 1, if that is
 * greater. So everything that Redis has lost was numbered below the time of the loss.
 *
 * If the clock goes back, or if a server whose clock was ahead is replaced, numbers stay ahead of
 * the clock. They go on at half its speed until the clock has caught up with them, at the shard's
 * `level`. Every server knows the level from the shard's record, and scripts get it with their
 * stamp. So numbers grow with time by the same rule for all, also in the second before a loss is
 * noticed, and nobody has to write down the numbers of that second. (Redis takes more than two
 * microseconds for each number. A jump of the clock counts as time, too.)
 *
 * While the clock of a shard is not known, neither are its numbers. Times are microseconds. */

/* New numbers are greater by this than all that were seen. A server that was replaced may go on for
 * store_primary_lease_ms, with a clock that has gone faster than is known here. */
int64_t fence_floor_headroom(const struct guard *guard);

/* At least every number that was given when Redis' clock was at `time`, or until now. */
int64_t fence_floor_at(const struct shard *shard, int64_t time);
int64_t fence_floor_now(const struct shard *shard);

/* The greatest fence_floor_now of all shards whose clocks are known; 0: no clock is. */
int64_t fence_floor_latest(const struct guard *guard);

/* From now on all new numbers are at least `number`. */
void fence_floor_raise(struct shard *shard, int64_t number);

#endif
