/* fence_floor.h: which numbers (fences and versions) a shard's Redis has given, as far as that can
 * be told by its clock, so that all new ones are greater, whatever it loses. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_FENCE_FLOOR_H
#define BATON_LOCKS_QUARANTINE_FENCE_FLOOR_H

#include <stdint.h>

struct guard;
struct shard;

/* A new number of a name is the time by Redis' clock, or one more than the name's last where that
 * is greater. So what Redis has lost was numbered below the time at which it was lost. Where the
 * clock goes back, or what has a clock ahead gives way to what has none, the numbers stay ahead of
 * it, and go on at half its speed until it has caught up, at the shard's `level`. All who use that
 * Redis know the level from its record, and scripts get it with their stamp: so numbers grow with
 * time by the same rule for everybody, also in the second before a loss is noticed, and what was
 * told in the meantime need not be written down. (A number takes Redis more than two microseconds.
 * What a clock jumps over counts as time, too.)
 *
 * Of a shard whose clock is not known nothing is known here. Times are microseconds. */

/* New numbers are greater by so much than all that were seen: what had them before may go on for as
 * long as it has its primary lease (store_primary_lease_ms), with a clock that has gone faster than
 * is known here. */
int64_t fence_floor_headroom(const struct guard *guard);

/* No number was greater when Redis' clock was at `time`, or now. */
int64_t fence_floor_at(const struct shard *shard, int64_t time);
int64_t fence_floor_now(const struct shard *shard);

/* The same of the shard whose numbers are furthest ahead, of those whose clock is known. */
int64_t fence_floor_latest(const struct guard *guard);

/* From now on all are as great at least. */
void fence_floor_raise(struct shard *shard, int64_t number);

#endif
