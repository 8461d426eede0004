/* cluster.h: learns from the nodes of a Redis Cluster which of them serves which slot, and when it
 * is another one. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_H
#define BATON_REDIS_CLUSTER_CLUSTER_H

#include "redis/cluster/slot_map.h"
#include "redis/wire/guide.h"

#include <uv.h>

/* Somebody asks all the time (redis/cluster/topology.h) who serves what (redis/cluster/slot_map.h),
 * by numbers that nodes are given when they are first heard of (redis/cluster/node_table.h). Here
 * is what the rest of the store asks of these three, and tells them.
 *
 * A map that is behind costs a detour, and nothing else: each node knows what it serves itself, and
 * sends whoever asks for more elsewhere. Used on its loop's thread alone. */
struct cluster;

/* All are called from the loop; none may be NULL, and none may close the cluster. */
struct cluster_events {
    void *context;
    /* A node that is new here serves slots, or is about to. It has the next number, from 0 on, and
     * keeps it; sessions with it follow the guide, which lives as long as the cluster. */
    void (*joined)(void *context, unsigned node, struct guide *guide);
    /* The map is known, and may be another one than before. */
    void (*mapped)(void *context);
    /* Nobody can be asked: told when it is news, and while no map is known so far. `code` is
     * -EPROTO where somebody has to act, else -EAGAIN. */
    void (*lost)(void *context, int code, const char *reason);
};

/* Starts asking. `url`, of the kind REDIS_CLUSTER, outlives it. Returns 0 or a negative errno. */
int cluster_open(struct cluster **ret, uv_loop_t *loop, const struct redis_url *url,
                 const struct cluster_events *events, struct failure *failure);

/* From now on the guide of a node points nowhere while the node has no primary lease
 * (redis/cluster/primary_lease.h). A new node that a node with a lease has named counts as having
 * one for PRIMARY_LEASE_MS. Call this right after cluster_open. */
void cluster_require_primary_lease(struct cluster *cluster);

/* Nobody may follow its guides any more. `closed` is called from the loop when the memory is gone.
 */
void cluster_close(struct cluster *cluster, void (*closed)(void *context), void *context);

/* The number of the node that serves the slot, as far as is known here; else CLUSTER_NOBODY. */
unsigned cluster_owner(const struct cluster *cluster, unsigned slot);

/* As their namesakes of the map. */
unsigned cluster_next_slot(const struct cluster *cluster, unsigned node, unsigned slot);
unsigned cluster_take_former(struct cluster *cluster, unsigned slot);

/* How many slots that node serves, and how many are served by none; all, while no map is known. */
unsigned cluster_slots_of(const struct cluster *cluster, unsigned node);
unsigned cluster_uncovered(const struct cluster *cluster);

/* What sessions with that node follow. */
struct guide *cluster_guide(struct cluster *cluster, unsigned number);

/* Whether the node was first heard of, or its address, so short a time ago that who is not
 * connected to it yet may be before long. */
bool cluster_is_fresh(const struct cluster *cluster, unsigned number);

/* Somebody has connected to that node. */
void cluster_note_up(struct cluster *cluster, unsigned number);

/* The node that `by` has sent somebody to; a new one, where nobody has heard of it so far. Returns
 * CLUSTER_NOBODY where it cannot be told from what it is called. */
unsigned cluster_find(struct cluster *cluster, const struct slot_node *to, unsigned by);

/* `by` has just said that it does not serve the slot, but the node at that address does. Returns
 * which that is; CLUSTER_NOBODY where it has served nothing so far: what it is, and what else it
 * serves, `by` is asked first. */
unsigned cluster_note_moved(struct cluster *cluster, unsigned slot, const struct slot_node *owner,
                            unsigned by);

/* What is known may be behind. */
void cluster_refresh(struct cluster *cluster);

/* Sessions with a node that serves nothing any more, and that nobody is waiting for, are to end. */
void cluster_dismiss(struct cluster *cluster, unsigned number);

#endif
