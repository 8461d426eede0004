/* router.h: sends each call to the node of a Redis Cluster that serves its slot, and again where
 * that turns out to be another one. */
#ifndef BATON_REDIS_CLUSTER_ROUTER_H
#define BATON_REDIS_CLUSTER_ROUTER_H

#include "redis/cluster/cluster.h"
#include "redis/wire/link.h"

/* What a node answers with instead of running a call, it has not run: so the call is sent again,
 * until STORE_DEADLINE_MS after it was made, and never twice because of a redirect.
 * - MOVED: the slot's owner is noted, and the call sent there.
 * - ASK: the call is sent to the other node, as an exception.
 * - TRYAGAIN: the slot is on its way from one node to another, and the name is not whole at either:
 *   the same again after some milliseconds. Redis says so where keys that a call declares are at
 *   different nodes; and so do the scripts, which know more (locks/scripts/shared/1-state.lua).
 *
 * Calls of one slot run in the order in which they were made, over all of that: those that are
 * under way are at one node, always. When one has come back, or is to go to another node than they,
 * those that come after it are held until all of them have been answered, and then go on in their
 * order. (Only a slot that comes back to a node, or a move that is called off, while two calls are
 * on the wire to it, lets the second overtake the first: it refuses the one and takes the other.)
 * It is the slot that is held rather than the name: there are 16384 of them, and moving one takes
 * milliseconds.
 *
 * Used on its loop's thread alone. */
struct router;

struct router_options {
    uv_loop_t *loop;
    struct cluster *cluster; /* outlives the router */
    /* The link to a node, which tells router_redirected; lives until router_close. */
    struct link *(*link_to)(void *context, unsigned node);
    /* Before a call is sent to `to`, to which `from` has sent it away. */
    void (*sent_away)(void *context, unsigned to, unsigned from);
    void *context;
};

struct router *router_open(const struct router_options *options);

/* From now on no link is used any more: what is held, and what comes, ends (UNSENT), soon, and in
 * router_close at the latest. */
void router_stop(struct router *router);

/* To be called when all links are closed. `closed` is called from the loop when the memory is gone.
 */
void router_close(struct router *router, void (*closed)(void *context), void *context);

/* As store_eval. */
void router_eval(struct router *router, const struct script *script, struct slice key,
                 const struct slice *arguments, size_t argument_count, store_done *done,
                 void *context);

/* As store_eval_at: for one node, with no key declared, and with ASKING, so that it sees what has
 * come there of a slot that is on its way. Where the script answers TRYAGAIN it runs again. */
void router_eval_at(struct router *router, unsigned node, const struct script *script,
                    const struct slice *arguments, size_t argument_count, store_done *done,
                    void *context);

/* The event of that name, of any link. */
void router_redirected(struct router *router, struct call *call, const char *error);

#endif
