/* confirmer.h: finds out whether enough replicas have all that Redis has answered so far. */
#ifndef BATON_REDIS_NODE_CONFIRMER_H
#define BATON_REDIS_NODE_CONFIRMER_H

#include "redis/types/confirm.h"
#include "redis/types/peer.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

/* WAIT blocks the connection that sends it, and inside a script it does not wait at all. On the
 * connection of the scripts it would hold them up, so a confirmer has a connection of its own.
 *
 * It works in rounds: it writes a marker key, then sends WAIT. The stream that replicas follow has
 * one order, so whatever Redis answered before the marker was sent stands before the marker in it.
 * A replica that has acknowledged the marker has all of that. So one round confirms all that is
 * pending, whichever connection wrote it, and scripts are the same with and without confirmation.
 * Without the marker, WAIT would ask for what its own connection has written (Redis 7.2 and newer),
 * which is nothing. While a round is under way, confirmations gather for the next round. So each
 * confirmation takes about one and a half rounds, and Redis runs two more commands for each round,
 * however much it confirms.
 *
 * What could make a wrong yes, and why it does not:
 * - The marker goes to another server than the one that answered (that server died, and a replica
 *   was promoted). Each pending confirmation carries the run id of the server that answered, and
 *   only a round on a connection to that run covers it.
 * - That server has become a replica, and follows another history. It refuses the marker (READONLY)
 *   and ends a WAIT under way (UNBLOCKED). The confirmer gives up the connection.
 * - That server became a replica and then a primary again before the marker, and has forgotten what
 *   it answered. Then it has begun another history (master_replid), which each pending confirmation
 *   carries, too. Sentinel ends the connections of a server that it demotes, so batond connects
 *   again and reads the new history. A person who demotes a server without ending them would have
 *   to promote it again between an answer and the marker, before the confirmation is due. Its time
 *   counts from when the script was sent.
 * - WAIT reports too few replicas. What has time left goes into another round with a new marker.
 *   Replicas of two rounds are never added up.
 * A no may be wrong: a replica has the data, but its acknowledgement came late. Then batond takes
 * the grant back.
 *
 * A round that waits for two replicas would hold up what needs only one. So there is a confirmer
 * for each number of replicas, connected when it is first needed. */
struct confirmer;

struct node;

struct confirmer_options {
    struct node *node; /* outlives the confirmer; its warnings are the node's */
    uv_loop_t *loop;
    const struct redis_url *url; /* as in session_open, as is the endpoint */
    struct endpoint *endpoint;
    int replicas;
    bool warns; /* after each connect, about how Redis is set up */
};

struct confirmer *confirmer_open(const struct confirmer_options *options);

/* After this it calls the node no more, and all that is pending is answered with an error. The loop
 * calls `closed` when the memory is gone. */
void confirmer_close(struct confirmer *confirmer, void (*closed)(void *context), void *context);

/* Asks whether replicas have all that `peer` has answered so far. `due` is on the loop's clock, in
 * ms. `done` is as in store_confirm. */
void confirmer_ask(struct confirmer *confirmer, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context);

#endif
