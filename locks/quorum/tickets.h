/* tickets.h: the waiters for the names of a quorum, of all workers of this process, in order of
 * arrival. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_TICKETS_H
#define BATON_LOCKS_QUORUM_TICKETS_H

#include "locks/locks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

/* Members keep no queue. Each waiter takes a ticket here; only the oldest present one asks the
 * members for the lock.
 *
 * It is the one thing that workers change together, and only those who wait do: an acquire or a
 * release of a name for which nobody waits reads a number and goes on, and what asks the members
 * stays with its own worker. One mutex guards all that is not said to be constant. It is held for
 * looking up a name or a token and moving links; nothing is called meanwhile but uv_async_send, so
 * there is no order of locks to keep. A worker that makes another one's ticket the first, or ends
 * it, puts it on the list of calls at that one's desk and wakes it; what becomes of the request is
 * that worker's own business, on its own thread. A ticket that leaves is in no list any more, so
 * whoever has left can be freed, and a desk whose tickets have all left is woken by nobody. */

/* All of them: struct tickets of locks.h. */

struct room;
struct ticket;

/* What a ticket is called for. */
struct call {
    enum locks_result ended; /* LOCKS_CANCELLED or _SUPERSEDED: by another request, and it has left;
                                LOCKS_DONE: it is the first now, */
    int64_t version; /* and was so behind a hold that it must wait for: the hold's version, */
    uint64_t until;  /* and its end, as uv_now; version 0: for none that is known */
};

/* One worker's side of it. `called` runs on the loop's thread for each ticket of this desk that is
 * called. */
struct desk {
    struct tickets *tickets;
    uv_async_t woken;
    void (*called)(struct ticket *ticket, const struct call *call);
    void *context; /* for its owner */
    struct ticket *first_call;
};

/* One who waits; its owner embeds it, zeroed, and sets the first part before it is drawn. */
struct ticket {
    struct slice token; /* the first member: as base/tree.h wants */
    struct slice owner; /* both live for as long as the ticket, */
    uint64_t since;     /* as uv_now; */
    void *context;
    enum lock_mode mode; /* and all these are constant */

    bool is_present;   /* this and the rest are for tickets.c alone */
    struct desk *desk; /* NULL: never drawn */
    struct room *room; /* NULL: it has left */
    struct ticket *next;
    struct ticket *previous;
    struct ticket *next_call;
    struct ticket **call_place; /* what points to this one in the list of calls; NULL: not called */
    struct call call;
};

void desk_open(struct desk *desk, struct tickets *tickets, uv_loop_t *loop,
               void (*called)(struct ticket *ticket, const struct call *call), void *context);

/* When all of its tickets have left; `closed` gets a handle whose data is the desk. */
void desk_close(struct desk *desk, uv_close_cb closed);

/* The first who waits for the name, if it is of this desk; else NULL. */
struct ticket *desk_first(const struct desk *desk, struct slice key);

enum drawn { DRAWN_FIRST, DRAWN_BEHIND, DRAWN_FULL };

/* From now on it waits for the name: behind all others, or in the place of an earlier ticket with
 * its token, which is ended. DRAWN_FULL: `most` wait already, and it does not. */
enum drawn ticket_draw(struct ticket *ticket, struct desk *desk, struct slice key, int64_t most);

/* Of this desk's own thread alone, like all that follow: it waits no longer; the next is called if
 * it was first. `got`: the hold that it has now, or NULL. May have left, or never been drawn. */
void ticket_leave(struct ticket *ticket, const struct hold *got);

/* Its place is kept, but it is passed over. False where it has left. */
bool ticket_step_aside(struct ticket *ticket);

/* It stands in front of all others. */
void ticket_come_first(struct ticket *ticket);
bool ticket_is_first(const struct ticket *ticket);

/* Whether anybody who waits for the name is there. */
bool tickets_wait(struct tickets *tickets, struct slice key);

/* Ends the ticket with this token, whose desk ever it is of. False where none waits with it. */
bool tickets_cancel(struct tickets *tickets, struct slice key, struct slice token);

/* Sets queue_length and the waiters of the view, whose owners point to `ret_owners`. */
struct ticket_owners {
    char of[LOCK_WAITERS_SHOWN][OWNER_LENGTH];
};
void tickets_show(struct tickets *tickets, struct slice key, uint64_t now, struct lock_view *view,
                  struct ticket_owners *ret_owners);

#endif
