/* doubt.h: attempts that ended here and may live on in Redis, kept until they have been taken back.
 * Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_DOUBT_H
#define BATON_LOCKS_WAITING_DOUBT_H

#include "base/slice.h"

#include <stdint.h>

struct attempt;
struct locks;

/* Where Sentinel has promoted another server meanwhile, that one is asked, and the old one never
 * again. Nothing else is needed: a grant that the new one has is taken back there, and one that it
 * has not is none, for nothing that only the old one has is ever served again. What that still
 * reads from a connection of ours it does for itself alone: it becomes a replica, which throws away
 * what it did on its own. Nor can such a grant come late to the new one: a replica that is promoted
 * has ended its connection to the old primary. */

/* How an attempt ended. */
enum leaving {
    LEAVE_GONE,  /* its client has gone, or cannot have learnt of a grant */
    LEAVE_DRAIN, /* its client was sent away: the place is kept for the waiter lease at least */
    LEAVE_STALE, /* nobody knows it any more: only what it never claimed is taken back */
    LEAVE_KINDS  /* how many there are */
};

/* A list of all that are to be taken back; those that Redis is being asked about are in it, too. */
struct doubts {
    struct doubt *first;
};

void doubts_open(struct locks *locks);
void doubts_close(struct locks *locks);

/* Asks Redis to take back whatever this attempt has, a grant or a place in the queue: now, and with
 * each doubts_ask until it has been done. What came of the token's later attempts stays. With a
 * `keep_ms` the place is kept that long. All texts are copied. */
void doubts_add(struct locks *locks, struct slice key, struct slice token,
                const struct attempt *attempt, enum leaving how, int64_t keep_ms);

/* Asks for all of them that Redis can be asked about, and is not being asked about yet. */
void doubts_ask(struct locks *locks);

#endif
