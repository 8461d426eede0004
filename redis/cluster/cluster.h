/* cluster.h: the nodes of a Redis Cluster, which slots each serves, and the endpoint of each, kept
 * up to date. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_H
#define BATON_REDIS_CLUSTER_CLUSTER_H

#include "redis/cluster/node_table.h"

#include <uv.h>

/* It puts three modules together: redis/cluster/topology.h asks the nodes,
 * redis/cluster/node_table.h gives each node a number when a node first names it, and
 * redis/cluster/slot_map.h keeps which number serves which slot.
 *
 * An outdated map costs only a detour: each node knows what it serves, and redirects every other
 * call. Used on its loop's thread alone. */
struct cluster;

/* Starts asking. `url`, of the kind REDIS_CLUSTER, outlives the cluster. Set all `events`
 * (redis/cluster/node_table.h); after `doubted`, call cluster_refresh. */
struct cluster *cluster_open(uv_loop_t *loop, const struct redis_url *url,
                             const struct cluster_events *events);

/* From now on the endpoint of a node points nowhere while the node has no primary lease
 * (redis/cluster/primary_lease.h). A new node that a node with a lease has named counts as having
 * one for PRIMARY_LEASE_MS. Call this right after cluster_open. */
void cluster_require_primary_lease(struct cluster *cluster);

/* Call this when no session follows its endpoints. The loop calls `closed` when the memory is gone.
 */
void cluster_close(struct cluster *cluster, void (*closed)(void *context), void *context);

/* Which number serves which slot; the nodes by number. Both live as long as the cluster. */
struct slot_map *cluster_map(struct cluster *cluster);
struct node_table *cluster_nodes(struct cluster *cluster);

/* The node `by` has just said that `owner` serves the slot. Returns the number of `owner`.
 * Returns CLUSTER_NOBODY if `owner` serves nothing by the present map: then the topology asks
 * `by` first what `owner` is and what else it serves. */
unsigned cluster_note_moved(struct cluster *cluster, unsigned slot, const struct slot_node *owner,
                            unsigned by);

/* The map may be outdated: asks again soon. */
void cluster_refresh(struct cluster *cluster);

#endif
