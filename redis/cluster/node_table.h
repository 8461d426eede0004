/* node_table.h: the nodes of a Redis Cluster by their numbers: what they are called, and where they
 * are. */
#ifndef BATON_REDIS_CLUSTER_NODE_TABLE_H
#define BATON_REDIS_CLUSTER_NODE_TABLE_H

#include "redis/cluster/primary_lease.h"
#include "redis/cluster/slot_map.h"
#include "redis/wire/guide.h"

#include <uv.h>

/* Those that serve slots, or did, or are about to: each gets the next number when it is first heard
 * of, and keeps it. Its id is worth more than its address, but a redirect tells the address alone.
 *
 * A guide to each says where it is. It points nowhere once the node was dismissed, and while it is
 * without a primary lease, where one is required. Used on its loop's thread alone. */
struct node_table;

struct node_table_events {
    void *context;
    /* A node is new: its number, and what sessions with it follow for as long as the node table
     * lives.
     */
    void (*joined)(void *context, unsigned number, struct guide *guide);
    /* A follower of a node's guide could not use it, or has lost it. */
    void (*guide_failed)(void *context);
};

/* `map` outlives it, and says who serves slots. */
struct node_table *node_table_open(uv_loop_t *loop, const struct slot_map *map,
                                   const struct node_table_events *events);

/* Nobody may follow its guides any more. */
void node_table_free(struct node_table *table);

/* From now on the guide of a node points nowhere while the node has no primary lease. A new node
 * that a node with a lease has named counts as having one for PRIMARY_LEASE_MS. */
void node_table_require_primary_lease(struct node_table *table, struct primary_lease *lease);

/* A primary lease may have ended or begun: updates all guides. */
void node_table_update_guides(struct node_table *table);

/* The map was read anew: those that serve slots are the primaries that give leases. */
void node_table_note_map(struct node_table *table);

/* What the node `by` calls so. CLUSTER_NOBODY where it has no number, or where it cannot be told
 * from what it is called. */
unsigned node_table_find(const struct node_table *table, const struct slot_node *named,
                         unsigned by);

/* The same, but who has no number gets one, and its guide points to where it is by this account.
 * CLUSTER_NOBODY also where there are too many. */
unsigned node_table_meet(struct node_table *table, const struct slot_node *named, unsigned by);

/* The same where whoever is at this address has said it, which need not have a number. */
unsigned node_table_meet_by(struct node_table *table, const struct slot_node *named,
                            const char *host, int port);

struct guide *node_table_guide(struct node_table *table, unsigned number);

/* Where it is, or was before it was dismissed. Valid until the loop goes on. */
struct node_table_address {
    const char *host;
    int port;
};
struct node_table_address node_table_address(const struct node_table *table, unsigned number);

/* How many serve slots, and which they are: the number of that one of them, from 0 on. */
size_t node_table_count_serving(const struct node_table *table);
unsigned node_table_serving(const struct node_table *table, size_t index);

/* Whether the map has one that nobody can connect to. */
bool node_table_serves_lost(const struct node_table *table);

/* Whether the node was first heard of, or its address, so short a time ago that who is not
 * connected to it yet may be before long. */
bool node_table_is_fresh(const struct node_table *table, unsigned number);

/* Somebody has connected to that node. */
void node_table_note_up(struct node_table *table, unsigned number);

/* Sessions with it are to end, unless it serves something; until somebody names it again. */
void node_table_dismiss(struct node_table *table, unsigned number);
bool node_table_is_dismissed(const struct node_table *table, unsigned number);

#endif
