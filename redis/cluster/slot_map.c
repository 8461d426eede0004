#include "redis/cluster/slot_map.h"

void slot_map_init(struct slot_map *map)
{
    *map = (struct slot_map){.uncovered = SLOT_COUNT};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        map->owners[slot] = map->former[slot] = CLUSTER_NOBODY;
}

void slot_map_give(struct slot_map *map, unsigned slot, unsigned owner)
{
    unsigned before = map->owners[slot];
    if (before == owner)
        return;
    if (before == CLUSTER_NOBODY)
        map->uncovered--;
    else
        map->counts[before]--;
    if (owner == CLUSTER_NOBODY)
        map->uncovered++;
    else
        map->counts[owner]++;
    map->owners[slot] = (uint16_t)owner;
    if (before != CLUSTER_NOBODY && map->former[slot] == CLUSTER_NOBODY)
        map->former[slot] = (uint16_t)before;
}

unsigned slot_map_owner(const struct slot_map *map, unsigned slot)
{
    return map->owners[slot];
}

unsigned slot_map_count(const struct slot_map *map, unsigned node)
{
    return node < CLUSTER_NODES_MOST ? map->counts[node] : 0;
}

unsigned slot_map_next(const struct slot_map *map, unsigned node, unsigned slot)
{
    for (unsigned i = 1; i <= SLOT_COUNT; i++) {
        unsigned next = (slot + i) % SLOT_COUNT;
        if (map->owners[next] == node)
            return next;
    }
    return SLOT_COUNT;
}

unsigned slot_map_take_former(struct slot_map *map, unsigned slot)
{
    unsigned former = map->former[slot];
    if (former == CLUSTER_NOBODY || map->owners[slot] == CLUSTER_NOBODY)
        return CLUSTER_NOBODY;
    map->former[slot] = CLUSTER_NOBODY;
    return former == map->owners[slot] ? CLUSTER_NOBODY : former;
}
