/* primary_lease.h: until when most of the primaries of a Cluster have said that a node is still one
 * of them.
 */
#ifndef BATON_REDIS_CLUSTER_PRIMARY_LEASE_H
#define BATON_REDIS_CLUSTER_PRIMARY_LEASE_H

#include "redis/address/url.h"
#include "redis/cluster/slots.h"

#include <stdint.h>
#include <uv.h>

/* A primary that was replaced may not know of it: it was cut off a moment ago, or stood still and
 * goes on. Whoever hears nobody else is granted locks there, while others are by its successor. So
 * a node has its lease for PRIMARY_LEASE_MS after the primaries were asked of which most have named
 * it; itself among them, for it is one of those that the Cluster counts. Two majorities have a
 * primary in common, but for the one in question: so once most of them name the successor, the old
 * one has no lease with anybody PRIMARY_LEASE_MS later. Only a cut in the moment of an election,
 * which some primaries have voted in and then do not hear the end of, may leave both with a
 * majority, and Redis with two primaries that both go on.
 *
 * It keeps a connection to every primary. Used on its loop's thread alone. Nodes have the numbers
 * of redis/cluster/node_table.h. */
struct primary_lease;

enum {
    PRIMARY_LEASE_MS = 2500,       /* enough for an answer that is lost, and a new connection */
    PRIMARY_LEASE_ASK_MS = 1000,   /* between two questions to the same primary, at most; */
    PRIMARY_LEASE_SPACE_MS = 50,   /* and at least */
    PRIMARY_LEASE_ANSWER_MS = 500, /* without an answer for this long its connection is given up */
};

/* Called from the loop; none may close the lease. */
struct primary_lease_events {
    void *context;
    /* The number of what the node `by` calls so; CLUSTER_NOBODY: nobody that is known. */
    unsigned (*find)(void *context, const struct slot_node *named, unsigned by);
    /* primary_lease_end may say something else than before, or the time of primary_lease_wake has
     * come. */
    void (*changed)(void *context);
};

/* `url` outlives it. */
struct primary_lease *primary_lease_open(uv_loop_t *loop, const struct redis_url *url,
                                         const struct primary_lease_events *events);
void primary_lease_close(struct primary_lease *lease, void (*closed)(void *context), void *context);

/* The node is one of the primaries, and is there; it is none any more. */
void primary_lease_add(struct primary_lease *lease, unsigned node, const char *host, int port);
void primary_lease_remove(struct primary_lease *lease, unsigned node);

/* All are asked as soon as that is decent. */
void primary_lease_refresh(struct primary_lease *lease);

/* On the loop's clock, in ms; 0: most have not named it so far, or not in their latest answers. */
uint64_t primary_lease_end(const struct primary_lease *lease, unsigned node);

/* `changed` is to be called at `due` (on the loop's clock, in ms) or before. */
void primary_lease_wake(struct primary_lease *lease, uint64_t due);

#endif
