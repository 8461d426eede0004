/* topology.h: asks the nodes of a Redis Cluster, one at a time, which of them serves which slot. */
#ifndef BATON_REDIS_CLUSTER_TOPOLOGY_H
#define BATON_REDIS_CLUSTER_TOPOLOGY_H

#include "redis/cluster/node_table.h"

/* It has a connection of its own: to which node does not matter, a replica will do. It asks every
 * second, and at once when it is told of a doubt. A node that cannot be reached, or that says that
 * it is cut off from the majority, or whose epoch is behind what another one has told, is left for
 * the next. It goes through those that serve slots, then through those of the URL; when it has been
 * through all in vain, it pauses. While the map has a node that nobody can connect to, another one
 * is asked each time. Used on its loop's thread alone. */
struct topology;

enum {
    TOPOLOGY_ASK_MS = 1000,   /* between two questions, at most; */
    TOPOLOGY_SPACE_MS = 50,   /* and at least */
    TOPOLOGY_ANSWER_MS = 500, /* without an answer for this long another node is asked */
};

/* Called from the loop; none may close the topology. */
struct topology_events {
    void *context;
    /* A node has said who serves what: for each slot a number of the node table, or CLUSTER_NOBODY.
     * Valid during the call. */
    void (*answered)(void *context, const uint16_t owners[SLOT_COUNT]);
    /* As that of struct cluster_events. */
    void (*lost)(void *context, int code, const char *reason);
};

/* Starts asking. `url`, of the kind REDIS_CLUSTER, and the node table, in which it enters whom it
 * hears of, outlive it. Returns 0 or a negative errno. */
int topology_open(struct topology **ret, uv_loop_t *loop, const struct redis_url *url,
                  struct node_table *table, const struct topology_events *events,
                  struct failure *failure);

/* `closed` is called from the loop when the memory is gone. */
void topology_close(struct topology *topology, void (*closed)(void *context), void *context);

/* What it has told may be behind: it asks again as soon as that is decent. */
void topology_refresh(struct topology *topology);

/* This node is to be asked next: it knows something new. */
void topology_turn_to(struct topology *topology, unsigned node);

#endif
