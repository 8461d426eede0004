/* sentinel.h: learns from Redis Sentinel which server is the primary, and when it is another one.
 */
#ifndef BATON_REDIS_SENTINEL_H
#define BATON_REDIS_SENTINEL_H

#include "redis/guide.h"

#include <stdint.h>
#include <uv.h>

/* It keeps a connection to every sentinel: those of the URL, and those that they name. All are
 * asked at once rather than in turn, so one that is dead or cut off delays nothing, and none that
 * is behind is believed (redis/votes.h says who is). Each is asked every second, at once when it
 * publishes a switch of primaries, and when a follower of the guide has lost the server; so a
 * message that is lost costs a second. One that does not answer in time has no vote until it does.
 *
 * While no sentinel can be heard, whoever is connected to the primary goes on, but nobody connects
 * to it anew: it might have been replaced. Used on its loop's thread alone. */
struct sentinel;

enum {
    SENTINEL_ASK_MS = 1000,     /* between two questions to the same sentinel, at most */
    SENTINEL_ANSWER_MS = 500,   /* without an answer for this long its connection is given up */
    SENTINEL_SPACE_MS = 100,    /* between two questions to the same sentinel, at least */
    SENTINEL_FORGET_MS = 60000, /* a learnt one that is gone, and that nobody named for so long */
    SENTINELS_MOST = 24,
};

/* Starts asking. `url`, of the kind REDIS_WATCHED, is copied. `warning` is called from the loop
 * when a sentinel is lost, and when it is so for another reason. Returns 0 or a negative errno. */
int sentinel_open(struct sentinel **ret, uv_loop_t *loop, const struct redis_url *url,
                  void (*warning)(void *context, const char *text), void *context,
                  struct failure *failure);

/* What sessions with the primary follow; lives as long as the sentinel. */
struct guide *sentinel_guide(struct sentinel *sentinel);

/* Nobody may follow the guide any more. `closed` is called from the loop when the memory is gone.
 */
void sentinel_close(struct sentinel *sentinel, void (*closed)(void *context), void *context);

#endif
