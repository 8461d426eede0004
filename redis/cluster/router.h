/* router.h: sends each call to the node of a Redis Cluster that serves its slot, and again if
 * another node turns out to serve it. */
#ifndef BATON_REDIS_CLUSTER_ROUTER_H
#define BATON_REDIS_CLUSTER_ROUTER_H

#include "redis/cluster/cluster.h"
#include "redis/node/shards.h"

/* A node that redirects a call has not run it. So the router sends the call again, until
 * the timeout of the URL has passed since it was made, and a redirect never makes it run twice.
 * - MOVED: the router notes the slot's new owner and sends the call there.
 * - ASK: the router sends this one call to the other node.
 * - TRYAGAIN: the slot is moving, and neither node has all keys of the name: the router sends
 *   the call again after some milliseconds. Redis says so if the keys that a call declares are
 *   at different nodes. The scripts, which know more, say so too
 *   (locks/scripts/shared/02-call.lua).
 *
 * Calls of one slot run in the order in which they were made: all calls of a slot that are under
 * way are at one node. If one of them comes back, or is to go to another node, the router holds
 * the later calls until all earlier ones have been answered, and then sends them in their order.
 * There is one exception: a slot comes back to a node, or its move is called off, while two
 * calls are on the wire to that node. Then the node may refuse the first call and run the
 * second.
 *
 * The router holds slots rather than names: there are 16384 slots, and moving one takes
 * milliseconds.
 *
 * Used on its loop's thread alone. */
struct router;

/* Calls go to these shards, which are the nodes of the cluster. Both outlive the router. Before a
 * call goes to another node than the one that has redirected it, the router reports `migrated`. */
struct router *router_open(const struct shards *shards, struct cluster *cluster);

/* Uses no node from now on. Held calls and new ones end with STORE_UNSENT, in router_close at
 * the latest. */
void router_stop(struct router *router);

/* Call this when all nodes are closed. The loop calls `closed` when the memory is gone. */
void router_close(struct router *router, void (*closed)(void *context), void *context);

/* See store_eval. */
void router_eval(struct router *router, const struct script_call *call);

/* See store_eval_at. The script declares no key and runs with ASKING, so that it sees keys of a
 * slot that is moving to this node. If the script answers TRYAGAIN, it runs again. */
void router_eval_at(struct router *router, unsigned number, const struct script_call *script_call);

/* Handles the `redirected` event of any node. */
void router_redirected(struct router *router, struct call *call, const char *error);

#endif
