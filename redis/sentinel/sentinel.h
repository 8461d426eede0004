/* sentinel.h: learns from Redis Sentinel which server is the primary, and when it is another one.
 */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_H
#define BATON_REDIS_SENTINEL_SENTINEL_H

#include "redis/wire/guide.h"

#include <stdint.h>
#include <uv.h>

/* It keeps a connection to every sentinel: those of the URL, and those that they name. All are
 * asked at once rather than in turn, so one that is dead or cut off delays nothing, and none that
 * is behind is believed (redis/sentinel/votes.h says who is, redis/sentinel/sentinel_set.h whose
 * votes count). Each is asked every second, at once when it publishes a switch of primaries, and
 * when a follower of the guide has lost the server; so a message that is lost costs a second. One
 * that does not answer in time has no vote until it does.
 *
 * While no sentinel can be heard, whoever is connected to the primary goes on, but nobody connects
 * to it anew: it might have been replaced. With sentinel_require_primary_lease nobody goes on for
 * longer than SENTINEL_PRIMARY_LEASE_MS after most of the sentinels were last asked and named it:
 * they may have promoted another meanwhile, and this one may live on, cut off from them together
 * with whoever uses it. So a primary that was replaced grants nothing more that long after the
 * switch.
 *
 * Used on its loop's thread alone. */
struct sentinel;

enum {
    SENTINEL_PRIMARY_LEASE_MS = 2500, /* enough for an answer that is lost, and a new connection */
};

/* Starts asking. `url`, of the kind REDIS_WATCHED, is copied. `warning` is called from the loop
 * when a sentinel is lost, and when it is so for another reason. Returns 0 or a negative errno. */
int sentinel_open(struct sentinel **ret, uv_loop_t *loop, const struct redis_url *url,
                  void (*warning)(void *context, const char *text), void *context,
                  struct failure *failure);

/* From now on the guide points nowhere without most of the sentinels. */
void sentinel_require_primary_lease(struct sentinel *sentinel);

/* What sessions with the primary follow; lives as long as the sentinel. */
struct guide *sentinel_guide(struct sentinel *sentinel);

/* Nobody may follow the guide any more. `closed` is called from the loop when the memory is gone.
 */
void sentinel_close(struct sentinel *sentinel, void (*closed)(void *context), void *context);

#endif
