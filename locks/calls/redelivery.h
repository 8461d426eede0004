/* redelivery.h: repeats a script until Redis replies, such as one that takes back a grant that its
 * client cannot know of. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_REDELIVERY_H
#define BATON_LOCKS_CALLS_REDELIVERY_H

#include "redis/types/script_call.h"

#include <sys/queue.h>

struct locks;

/* The most that wait for single shards. Beyond that a script is sent only once, and what it would
 * change ends by its TTL: a member that is down for long must not use up the memory. */
enum { REDELIVERIES_MOST = 100000 };

#define REDELIVERY_FOR_EVER INT64_MAX

/* All scripts that have no reply yet, sent or not. */
struct redeliveries {
    LIST_HEAD(redelivery_list, redelivery) list;
    unsigned count;
};

/* Sends the script now, or when Redis is up again, until it replies. Gives up after `useful_ms`,
 * when what the script would end has ended by itself. Uses and copies script, key and arguments of
 * `call`. Redis runs the script before anything that the same connection sends later.
 *
 * After a failover it asks the promoted node, and never again the old primary. If the new primary
 * has the grant, the script takes it back there; a grant that only the old primary had is never
 * served again. A grant cannot reach the new primary late: a replica ends its connection to the
 * primary when it is promoted. */
void redelivery_add(struct locks *locks, const struct script_call *call, int64_t useful_ms);

/* The same for one shard, such as a member of a quorum. */
void redelivery_add_at(struct locks *locks, unsigned shard, const struct script_call *call,
                       int64_t useful_ms);

/* Sends all that wait for a shard that is up, and drops what is too late. Call this when a shard is
 * up or has taken names over, and about every second for what a shard has refused. */
void redeliveries_send(struct locks *locks);

/* Whether nothing waits to be sent, except to members that are down. */
bool redeliveries_are_settled(const struct locks *locks);

void redeliveries_free(struct locks *locks);

#endif
