/* slot_map.h: which node of a Redis Cluster serves which slot, and which did before. */
#ifndef BATON_REDIS_CLUSTER_SLOT_MAP_H
#define BATON_REDIS_CLUSTER_SLOT_MAP_H

#include "redis/cluster/slots.h"

#include <stdint.h>

/* Nodes have numbers here, from 0 on: redis/cluster/node_table.h knows what they are called and
 * where they are.
 */
enum {
    CLUSTER_NODES_MOST = 1024,
    CLUSTER_NOBODY = 0xffff,
};

/* For its owner to keep, and for the functions below to read and write. */
struct slot_map {
    uint16_t owners[SLOT_COUNT];
    uint16_t former[SLOT_COUNT]; /* until it is asked for */
    unsigned counts[CLUSTER_NODES_MOST];
    unsigned uncovered;
};

/* Nobody serves anything. */
void slot_map_init(struct slot_map *map);

/* From now on `owner`, or CLUSTER_NOBODY, serves the slot. */
void slot_map_give(struct slot_map *map, unsigned slot, unsigned owner);

/* The number of the node that serves the slot; else CLUSTER_NOBODY. */
unsigned slot_map_owner(const struct slot_map *map, unsigned slot);

/* How many slots that node serves; none, where there is no such node. */
unsigned slot_map_count(const struct slot_map *map, unsigned node);

/* The first slot behind `slot` that the node serves, round and round; SLOT_COUNT: it serves none.
 */
unsigned slot_map_next(const struct slot_map *map, unsigned node, unsigned slot);

/* Who served the slot before its owner, told once for each change; CLUSTER_NOBODY: there is no
 * news. */
unsigned slot_map_take_former(struct slot_map *map, unsigned slot);

#endif
