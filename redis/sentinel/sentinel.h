/* sentinel.h: learns from Redis Sentinel which server is the primary, and notices when that
 * changes. */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_H
#define BATON_REDIS_SENTINEL_SENTINEL_H

#include "redis/wire/endpoint.h"

#include <uv.h>

/* It keeps a connection to every sentinel: to those of the URL, and to those that they name. It
 * asks all at once rather than in turn, so a dead sentinel delays nothing, and it believes no
 * sentinel that is behind (redis/sentinel/votes.h picks the answer,
 * redis/sentinel/sentinel_set.h says which votes count). It asks each sentinel every second, at
 * once when the sentinel publishes a failover, and at once when a follower of the endpoint has lost
 * the server; so a lost message costs a second. A sentinel that does not answer in time has no
 * vote until it does.
 *
 * While no sentinel answers, sessions that are connected to the primary go on, but none connects
 * anew: the primary might have been replaced. With sentinel_require_primary_lease no session
 * goes on for longer than SENTINEL_PRIMARY_LEASE_MS after most sentinels were last asked and
 * named the primary. They may have promoted another server meanwhile, while the old primary
 * lives on, cut off from them together with its clients. So a replaced primary grants nothing
 * for longer than that after the failover.
 *
 * Used on its loop's thread alone. */
struct sentinel;

enum {
    SENTINEL_PRIMARY_LEASE_MS = 2500, /* enough for an answer that is lost, and a new connection */
};

/* Starts asking. Copies `url`, of the kind REDIS_WATCHED. The loop calls `warning` when a
 * sentinel is lost, and when it is lost for another reason than before. Returns 0 or a negative
 * errno. */
int sentinel_open(struct sentinel **ret, uv_loop_t *loop, const struct redis_url *url,
                  void (*warning)(void *context, const char *text), void *context,
                  struct failure *failure);

/* From now on the endpoint points nowhere unless most sentinels name the primary. */
void sentinel_require_primary_lease(struct sentinel *sentinel);

/* The endpoint that sessions with the primary follow; it lives as long as the sentinel. */
struct endpoint *sentinel_endpoint(struct sentinel *sentinel);

/* No session may follow the endpoint any more. The loop calls `closed` when the memory is gone. */
void sentinel_close(struct sentinel *sentinel, void (*closed)(void *context), void *context);

#endif
