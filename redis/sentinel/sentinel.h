/* sentinel.h: learns from Redis Sentinel which server is the primary, and notices when that
 * changes. */
#ifndef BATON_REDIS_SENTINEL_SENTINEL_H
#define BATON_REDIS_SENTINEL_SENTINEL_H

/* It keeps a connection to every sentinel: to those of the URL, and to those that they name. It
 * asks all of them side by side, so a dead sentinel delays nothing. It ignores a sentinel that is
 * behind: redis/sentinel/sentinel_set.h says which votes count, and redis/sentinel/votes.h picks
 * the answer.
 *
 * It asks each sentinel every second. It also asks at once when a sentinel publishes a failover,
 * and when a follower of the endpoint has lost the server. So a lost message costs one second. A
 * sentinel that does not answer in time has no vote until it answers.
 *
 * While no sentinel answers, sessions that are connected to the primary go on, but no session
 * connects anew, because the primary might have been replaced.
 *
 * If a primary lease is required, a session ends SENTINEL_PRIMARY_LEASE_MS after the last
 * question to which most sentinels answered with this primary. The sentinels may have promoted
 * another server meanwhile, while the old primary is cut off from them together with its clients.
 * So a replaced primary grants no lock later than SENTINEL_PRIMARY_LEASE_MS after the failover.
 *
 * This is the kind of redis+sentinel:// (redis/kind.h): one node, which follows the endpoint. */
enum {
    SENTINEL_PRIMARY_LEASE_MS = 2500, /* enough for one lost answer and a new connection */
};

#endif
