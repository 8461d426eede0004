/* node_table.h: the nodes of a Redis Cluster by number: their ids and their addresses. */
#ifndef BATON_REDIS_CLUSTER_NODE_TABLE_H
#define BATON_REDIS_CLUSTER_NODE_TABLE_H

#include "redis/cluster/primary_lease.h"
#include "redis/cluster/slot_map.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

/* A node that serves slots, has served slots, or is about to serve them, gets the next number when
 * another node first names it, and keeps this number. An id identifies a node better than its
 * address, but a redirect gives the address alone.
 *
 * The endpoint of each node gives its address. The endpoint points nowhere after the node was
 * dismissed. If nodes need a primary lease, it also points nowhere while the node has none. Used on
 * its loop's thread alone. */
struct node_table;

/* What the node table, and the topology, report to the owner of the cluster. The loop calls these.
 * They must not close the cluster. */
struct cluster_events {
    void *context;
    /* A new node serves slots, or is about to. It keeps its number `node`; numbers count from 0.
     * Sessions with it follow the endpoint, which lives as long as the table. */
    void (*joined)(void *context, unsigned node, struct endpoint *endpoint);
    /* A follower of a node's endpoint could not use the node, or has lost it. */
    void (*doubted)(void *context);
    /* The map is known, and may have changed. */
    void (*mapped)(void *context);
    /* The topology can ask no node. Called when that begins, and repeatedly until a first map is
     * known. `code` is -EPROTO if an operator has to act, else -EAGAIN. */
    void (*lost)(void *context, int code, const char *reason);
};

/* `map`, which says which nodes serve slots, and `events` outlive the table. */
struct node_table *node_table_open(uv_loop_t *loop, const struct slot_map *map,
                                   const struct cluster_events *events);

/* Call this when no session follows its endpoints. */
void node_table_free(struct node_table *table);

/* From now on the endpoint of a node points nowhere while the node has no primary lease. A new node
 * that a node with a lease has named counts as having one for PRIMARY_LEASE_MS. */
void node_table_require_primary_lease(struct node_table *table, struct primary_lease *lease);

/* A primary lease may have ended or begun: updates all endpoints. */
void node_table_update_endpoints(struct node_table *table);

/* The map has changed: the nodes that serve slots are the primaries that give leases. */
void node_table_note_map(struct node_table *table);

/* The number of the node that the node `by` names. CLUSTER_NOBODY if it has no number, or if the
 * name does not identify a node. */
unsigned node_table_find(const struct node_table *table, const struct slot_node *named,
                         unsigned by);

/* As node_table_find, but an unknown node gets a number, and its endpoint points to the address
 * that `by` gives. Returns CLUSTER_NOBODY also if there are too many nodes. */
unsigned node_table_meet(struct node_table *table, const struct slot_node *named, unsigned by);

/* As node_table_meet, but the server at this address names the node. The server may have no
 * number. */
unsigned node_table_meet_by(struct node_table *table, const struct slot_node *named,
                            const char *host, int port);

struct endpoint *node_table_endpoint(struct node_table *table, unsigned number);

/* The node's address, or its last one if it was dismissed. Valid until the loop goes on. */
struct node_table_address {
    const char *host;
    int port;
};
struct node_table_address node_table_address(const struct node_table *table, unsigned number);

/* How many nodes serve slots, and the number of the node at `index` among them. */
size_t node_table_count_serving(const struct node_table *table);
unsigned node_table_serving(const struct node_table *table, size_t index);

/* Whether a node on the map cannot be connected to. */
bool node_table_serves_lost(const struct node_table *table);

/* Whether the node, or its address, became known so recently that a session which is not
 * connected yet may soon be. */
bool node_table_is_fresh(const struct node_table *table, unsigned number, int within_ms);

/* A session has connected to the node. */
void node_table_note_up(struct node_table *table, unsigned number);

/* Ends sessions with the node, unless it serves slots, until another node names it again. */
void node_table_dismiss(struct node_table *table, unsigned number);
bool node_table_is_dismissed(const struct node_table *table, unsigned number);

#endif
