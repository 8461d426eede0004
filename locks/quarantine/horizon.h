/* horizon.h: until when there may be holds, as far as anybody was told of them. Internal to locks/.
 */
#ifndef BATON_LOCKS_QUARANTINE_HORIZON_H
#define BATON_LOCKS_QUARANTINE_HORIZON_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct shard;

/* Of each shard there is a time by which every hold has ended of which somebody was told: here, and
 * in its record in Redis (identity_record.h). Before somebody is told of one that ends later, the
 * time is moved on, here and there, by half as much again as the hold lasts, 30 s at most, so that
 * it is seldom done: the answer waits until Redis has said that its record has it. So whoever comes
 * later knows that time, too, as long as Redis or any of those who told remembers it.
 *
 * What Redis refuses moves nothing. Nor does a grant of which the answer was lost: nobody counts on
 * it, but for who asks again by its token, and is told then.
 *
 * Where there is no quarantine, or the very next run of Redis has all, nobody waits. */

/* Of a hold that was made just now, or prolonged, and is to be told when so many replicas have it:
 * whether the time is late enough. If not, it is on its way to be. */
bool horizon_covers(struct guard *guard, unsigned number, int64_t ttl_ms, int64_t replicas);

/* Runs when it is, once, from the loop and never before horizon_await has returned. With an
 * `error`, for clients, where it is not known whether Redis has it. */
typedef void horizon_done(void *context, const char *error);

/* Right after horizon_covers has said no. */
void horizon_await(struct guard *guard, unsigned number, horizon_done *done, void *context);

/* For who does not wait for that: before a shard is asked for a hold, or all of them. */
void horizon_move(struct guard *guard, unsigned number, int64_t ttl_ms);
void horizon_move_all(struct guard *guard, int64_t ttl_ms);

/* Names may have gone from one shard to another, and their holds with them: any shard may have
 * those that end last. */
void horizon_level(struct guard *guard);

/* Writes it, late or not. */
void horizon_write(struct shard *shard);

#endif
