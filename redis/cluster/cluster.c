#include "redis/cluster/cluster.h"

#include "base/memory.h"
#include "redis/cluster/primary_lease.h"
#include "redis/cluster/topology.h"

struct cluster {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct cluster_events events;
    struct slot_map map;
    struct node_table *table;
    struct topology *topology;
    struct primary_lease *lease; /* NULL: the nodes need no lease */
    int open;                    /* how many of topology and lease are open */
    void (*closed)(void *context);
    void *closed_context;
};

struct slot_map *cluster_map(struct cluster *cluster)
{
    return &cluster->map;
}

struct node_table *cluster_nodes(struct cluster *cluster)
{
    return cluster->table;
}

/* Redirects, and asking again */

void cluster_refresh(struct cluster *cluster)
{
    if (cluster->lease)
        primary_lease_refresh(cluster->lease);
    topology_refresh(cluster->topology);
}

/* A node that serves nothing by the map may be a known node at another address, or may have taken
 * over all slots of another node. Only the topology knows. */
unsigned cluster_note_moved(struct cluster *cluster, unsigned slot, const struct slot_node *owner,
                            unsigned by)
{
    unsigned number = node_table_find(cluster->table, owner, by);
    bool is_known = slot_map_count(&cluster->map, number) > 0;
    if (is_known)
        slot_map_give(&cluster->map, slot, number);
    else
        topology_retarget(cluster->topology, by);
    cluster_refresh(cluster);
    return is_known ? number : CLUSTER_NOBODY;
}

/* The beginning and the end */

static void cluster_on_one_closed(void *context)
{
    struct cluster *cluster = context;
    if (--cluster->open > 0)
        return;
    void (*closed)(void *context) = cluster->closed;
    void *closed_context = cluster->closed_context;
    node_table_free(cluster->table);
    free(cluster);
    closed(closed_context);
}

struct cluster *cluster_open(uv_loop_t *loop, const struct redis_url *url,
                             const struct cluster_events *events)
{
    struct cluster *cluster = memory_checked(calloc(1, sizeof *cluster));
    cluster->loop = loop;
    cluster->url = url;
    cluster->events = *events;
    slot_map_init(&cluster->map);
    cluster->table = node_table_open(loop, &cluster->map, &cluster->events);
    cluster->topology = topology_open(loop, url, &cluster->map, cluster->table, &cluster->events);
    cluster->open = 1;
    return cluster;
}

void cluster_require_primary_lease(struct cluster *cluster)
{
    cluster->lease = primary_lease_open(cluster->loop, cluster->url, cluster->table);
    node_table_require_primary_lease(cluster->table, cluster->lease);
    cluster->open++;
}

void cluster_close(struct cluster *cluster, void (*closed)(void *context), void *context)
{
    cluster->closed = closed;
    cluster->closed_context = context;
    if (cluster->lease)
        primary_lease_close(cluster->lease, cluster_on_one_closed, cluster);
    topology_close(cluster->topology, cluster_on_one_closed, cluster);
}
