/* slot_map.h: a table in memory: for each slot of a Redis Cluster the number of the node that
 * serves it, and of the one that served it before. */
#ifndef BATON_REDIS_CLUSTER_SLOT_MAP_H
#define BATON_REDIS_CLUSTER_SLOT_MAP_H

#include "redis/cluster/slots.h"

#include <stdint.h>

/* Nodes have numbers from 0 on; redis/cluster/node_table.h has their ids and addresses. */
enum {
    /* Numbers are not used again: after so many primaries in the life of a store, a further one has
     * no number, and its slots count as served by nobody. */
    CLUSTER_NODES_MOST = 1024,
    CLUSTER_NOBODY = 0xffff,
};

/* The owner keeps it; only the functions below read and write it. */
struct slot_map {
    uint16_t owners[SLOT_COUNT];
    uint16_t former[SLOT_COUNT];         /* the owner before changes that slot_map_take_former has
                                          * not returned yet */
    unsigned counts[CLUSTER_NODES_MOST]; /* by node: how many slots it serves */
    unsigned uncovered;                  /* slots that no node serves */
};

/* No node serves any slot. */
void slot_map_init(struct slot_map *map);

/* Makes `owner`, or CLUSTER_NOBODY, serve the slot. */
void slot_map_give(struct slot_map *map, unsigned slot, unsigned owner);

/* The number of the node that serves the slot; else CLUSTER_NOBODY. */
unsigned slot_map_owner(const struct slot_map *map, unsigned slot);

/* How many slots the node serves; 0 for CLUSTER_NOBODY. */
unsigned slot_map_count(const struct slot_map *map, unsigned node);

/* The first slot after `slot` that the node serves, going round; SLOT_COUNT: it serves none. */
unsigned slot_map_next(const struct slot_map *map, unsigned node, unsigned slot);

/* The node that served the slot at the last call, if another node serves it now; else
 * CLUSTER_NOBODY. So it returns each change once. */
unsigned slot_map_take_former(struct slot_map *map, unsigned slot);

#endif
