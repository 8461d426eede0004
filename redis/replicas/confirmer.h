/* confirmer.h: finds out whether enough replicas have all that Redis has answered so far. */
#ifndef BATON_REDIS_REPLICAS_CONFIRMER_H
#define BATON_REDIS_REPLICAS_CONFIRMER_H

#include "base/slice.h"
#include "redis/types/confirm.h"
#include "redis/types/peer.h"
#include "redis/wire/endpoint.h"

#include <uv.h>

/* WAIT blocks the connection that sends it, and inside a script it does not wait at all: on the
 * link that runs the scripts it would hold up everybody's. So a confirmer has a connection of its
 * own, and asks there in rounds: it writes a marker key, then WAITs. The stream that replicas
 * follow has one order. Whatever Redis has answered before the marker was sent stands before it, so
 * a replica that has acknowledged the marker has all of that: one round confirms all that came
 * together, whoever wrote it and on whichever connection, and the scripts are the same with and
 * without. Without the marker, WAIT asks for what its own connection has written (Redis 7.2 and
 * newer), which is nothing. While a round is under way the next ones gather, so each is confirmed
 * in one round and a half, about, and Redis has two commands more for each round, not for each.
 *
 * What could make a wrong yes, and why it does not:
 * - The marker goes to another server than the one that answered (it died, a replica was promoted):
 *   each question carries the run id of who answered, and only a connection to that run covers it.
 * - That server became a replica, whose history is another's: it refuses the marker (READONLY), and
 *   ends a WAIT that is under way (UNBLOCKED). The connection is given up.
 * - It became a replica and a primary again before the marker, and has forgotten what it answered:
 *   then it has begun another history (master_replid), which a question carries, too. Sentinel ends
 *   the connections of whom it demotes, so what is asked of is told anew; and who demotes a server
 *   by hand without that would have to be done with it between an answer and the marker, within the
 *   time that a question has, which counts from when the script was sent.
 * - A WAIT that was answered short: whoever has time left is asked for again by a new marker, and
 *   never counted together from two rounds.
 * A no may be wrong (the replica has it, its word came late); then what was granted is taken back.
 *
 * One that waits for two replicas would hold up those that want one: there is a confirmer for each
 * number of replicas, connected when it is first asked. */
struct confirmer;

struct confirmer_events {
    void *context;
    void (*warning)(void *context, const char *text);
    /* To this run of Redis, which has this history (store_peer). */
    void (*connected)(void *context, const char *run_id, const char *history);
    /* The marker's key is none that this node of a Cluster serves; may be NULL. */
    void (*astray)(void *context);
};

struct confirmer_options {
    uv_loop_t *loop;
    const struct redis_url *url; /* copied */
    struct endpoint *endpoint;   /* as of session_open; may be NULL */
    struct slice marker;         /* the key; copied */
    int replicas;
    bool warns; /* of how Redis is set up, after each connect */
    struct confirmer_events events;
};

struct confirmer *confirmer_open(const struct confirmer_options *options);

/* No event comes any more; those that ask are told no. `closed` when the memory is gone. */
void confirmer_close(struct confirmer *confirmer, void (*closed)(void *context), void *context);

/* Another key for the marker; copied. */
void confirmer_mark_by(struct confirmer *confirmer, struct slice marker);

/* Asks for what `peer` has answered by now; `due` on the loop's clock, in ms.
 * `done` as that of store_confirm. */
void confirmer_ask(struct confirmer *confirmer, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context);

#endif
