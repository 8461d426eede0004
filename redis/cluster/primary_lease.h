/* primary_lease.h: until when most primaries of a Cluster confirm that a node is still one of
 * them. */
#ifndef BATON_REDIS_CLUSTER_PRIMARY_LEASE_H
#define BATON_REDIS_CLUSTER_PRIMARY_LEASE_H

#include "redis/address/url.h"
#include "redis/cluster/slots.h"

#include <stdint.h>
#include <uv.h>

/* A primary that was replaced may not know it: it was cut off a moment ago, or stood still and
 * goes on. A client that reaches no other node would get locks there while its successor grants
 * them to others. So batond uses a node only while the node has a lease. A lease lasts
 * PRIMARY_LEASE_MS from the moment when batond asked the primaries of which most named the node.
 * The node counts its own vote, since the Cluster counts it as well.
 *
 * Two majorities have a primary in common, apart from the one in question. So once most
 * primaries name the successor, the old primary's leases end within PRIMARY_LEASE_MS. One case
 * remains: a cut in the moment of an election, in which some primaries have voted and whose end
 * they do not hear of. It may leave both nodes with a majority, and Redis with two primaries.
 *
 * It keeps a connection to every primary. Nodes have the numbers of redis/cluster/node_table.h.
 * Used on its loop's thread alone. */
struct primary_lease;

enum {
    PRIMARY_LEASE_MS = 2500,       /* enough for an answer that is lost, and a new connection */
    PRIMARY_LEASE_ASK_MS = 1000,   /* between two questions to the same primary, at most; */
    PRIMARY_LEASE_SPACE_MS = 50,   /* and at least */
    PRIMARY_LEASE_ANSWER_MS = 500, /* without an answer for this long its connection is given up */
};

/* The loop calls these. None may close the lease. */
struct primary_lease_events {
    void *context;
    /* The number of the node that the node `by` names; CLUSTER_NOBODY: no known node. */
    unsigned (*find)(void *context, const struct slot_node *named, unsigned by);
    /* The answer of primary_lease_end may have changed, or the time of primary_lease_wake has
     * come. */
    void (*changed)(void *context);
};

/* `url` outlives the lease. */
struct primary_lease *primary_lease_open(uv_loop_t *loop, const struct redis_url *url,
                                         const struct primary_lease_events *events);
void primary_lease_close(struct primary_lease *lease, void (*closed)(void *context), void *context);

/* The node is a primary, at this address; it is none any more. */
void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port);
void primary_lease_remove(struct primary_lease *lease, unsigned node);

/* Asks all primaries again, PRIMARY_LEASE_SPACE_MS after the last question at the earliest. */
void primary_lease_refresh(struct primary_lease *lease);

/* The end of the node's lease on the loop's clock, in ms. 0: most primaries have not named it,
 * or not in their latest answers. */
uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node);

/* Calls `changed` at `due` (on the loop's clock, in ms) or before. */
void primary_lease_wake(struct primary_lease *lease, uint64_t due);

#endif
