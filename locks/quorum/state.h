/* state.h: the state of the quorum engine of one worker. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_STATE_H
#define BATON_LOCKS_QUORUM_STATE_H

#include "locks/calls/operation.h"
#include "locks/quorum/broadcast.h"

#include <sys/queue.h>

struct awaited_name;

/* The error of a reply whose outcome is unknown. */
#define QUORUM_TOO_FEW                                                                             \
    "too few members of the quorum answered, so the outcome is unknown (batond's log says why)"

struct quorum_state {
    struct broadcasts broadcasts;
    void *awaited_names; /* a tree of base/tree.h, by key */
    LIST_HEAD(awaited_name_list, awaited_name) awaited;
    int64_t longest_ttl_ms; /* of all holds granted or renewed here, and at least TTL_LEAST_MS */

    void (*ask)(struct awaited_name *awaited); /* the first waiter of the name asks for the lock */
    const struct watched_kind *watched;
};

/* Call this for each hold: a member that is down may keep it for its TTL. */
static inline void quorum_note_ttl(const struct locks *locks, int64_t ttl_ms)
{
    if (ttl_ms > locks->quorum->longest_ttl_ms)
        locks->quorum->longest_ttl_ms = ttl_ms;
}

#endif
