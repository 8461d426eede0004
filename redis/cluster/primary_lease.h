/* primary_lease.h: until when most primaries of a Cluster confirm that a node is still one of
 * them. */
#ifndef BATON_REDIS_CLUSTER_PRIMARY_LEASE_H
#define BATON_REDIS_CLUSTER_PRIMARY_LEASE_H

#include "redis/address/url.h"

#include <stdint.h>
#include <uv.h>

/* A primary that was replaced may not know it, because it was cut off a moment ago, or stood still
 * and goes on. A client that reaches no other node would get locks there while the successor
 * grants the same locks to other clients. So batond uses a node only while the node has a lease. A
 * lease lasts PRIMARY_LEASE_MS from the moment when batond asked the primaries of which most named
 * the node. The node counts its own vote, since the Cluster counts it as well.
 *
 * Two majorities have a primary in common, apart from the node in question. So once most
 * primaries name the successor, the old primary's leases end within PRIMARY_LEASE_MS. One case
 * remains: the network is cut during an election, after some primaries have voted, and these do
 * not learn the result. Then both nodes may have a majority, and Redis has two primaries.
 *
 * It keeps a connection to every primary. Nodes have the numbers of redis/cluster/node_table.h.
 * Used on its loop's thread alone. */
struct primary_lease;

enum {
    PRIMARY_LEASE_MS = 2500,       /* enough for one lost answer and a new connection */
    PRIMARY_LEASE_ASK_MS = 1000,   /* the longest time between two questions to a primary */
    PRIMARY_LEASE_SPACE_MS = 50,   /* the shortest time between them */
    PRIMARY_LEASE_ANSWER_MS = 500, /* batond waits this long for an answer, then reconnects */
};

struct node_table;

/* `url` and the table outlive the lease. The lease updates the endpoints of the table when the
 * answer of primary_lease_end may have changed, and at the time of primary_lease_wake. */
struct primary_lease *primary_lease_open(uv_loop_t *loop, const struct redis_url *url,
                                         struct node_table *table);
void primary_lease_close(struct primary_lease *lease, void (*closed)(void *context), void *context);

/* The node is a primary at this address. */
void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port);

/* The node is no primary any more. */
void primary_lease_remove(struct primary_lease *lease, unsigned node);

/* Asks all primaries again, PRIMARY_LEASE_SPACE_MS after the last question at the earliest. */
void primary_lease_refresh(struct primary_lease *lease);

/* The end of the node's lease on the loop's clock, in ms. 0: the latest answers of most
 * primaries do not name it. */
uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node);

/* Updates the endpoints at `due` (on the loop's clock, in ms) or before. */
void primary_lease_wake(struct primary_lease *lease, uint64_t due);

#endif
