/* topology.h: the connection that asks one node of a Redis Cluster after another for CLUSTER SLOTS.
 */
#ifndef BATON_REDIS_CLUSTER_TOPOLOGY_H
#define BATON_REDIS_CLUSTER_TOPOLOGY_H

#include "redis/cluster/node_table.h"

/* It has one connection of its own, to any node, also to a replica. It asks every second, and at
 * once after topology_refresh.
 *
 * It goes to the next node if a node cannot be reached, says that it is cut off from the
 * majority, or has an older epoch than another node has reported. The nodes that serve slots come
 * first, then those of the URL. After one round without an answer that counts it pauses. While
 * no session can connect to some node on the map, it asks another node each time. Used on its
 * loop's thread alone. */
struct topology;

enum {
    TOPOLOGY_ASK_MS = 1000,   /* the longest time between two questions */
    TOPOLOGY_SPACE_MS = 50,   /* the shortest time between them */
    TOPOLOGY_ANSWER_MS = 500, /* it waits this long for an answer, then asks another node */
};

/* Starts asking. `url`, of the kind REDIS_CLUSTER, the map, the node table and `events` outlive the
 * topology, which keeps the map up to date and adds new nodes to the table. */
struct topology *topology_open(uv_loop_t *loop, const struct redis_url *url, struct slot_map *map,
                               struct node_table *table, const struct cluster_events *events);

/* The loop calls `closed` when the memory is gone. */
void topology_close(struct topology *topology, void (*closed)(void *context), void *context);

/* The last answer may be outdated: asks again, TOPOLOGY_SPACE_MS after the last question at the
 * earliest. */
void topology_refresh(struct topology *topology);

/* Asks this node next: it knows something new. Does nothing while an earlier node of this kind has
 * neither answered nor failed: two nodes in turn would end each other's connection. */
void topology_retarget(struct topology *topology, unsigned node);

#endif
