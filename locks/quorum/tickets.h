/* tickets.h: the waiters for the names of a quorum, of all workers of this process, in order of
 * arrival. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_TICKETS_H
#define BATON_LOCKS_QUORUM_TICKETS_H

#include "locks/locks.h"

#include <sys/queue.h>
#include <uv.h>

/* Members keep no queue. Each waiter takes a ticket here; only the oldest present one asks the
 * members for the lock.
 *
 * Workers change nothing else together, and only those with waiters do: an acquire or a release of
 * a name for which nobody waits reads one number. One mutex guards all that is not called constant
 * here. It is held while a name or a token is looked up and links are moved; the only call
 * meanwhile is uv_async_send, so no order of mutexes has to be kept. If a worker makes another
 * worker's ticket the first, or ends it, it leaves a notice for that worker and wakes it; what
 * becomes of the request is then decided on the other worker's own thread. A ticket that has left
 * is in no list, so its owner can free it. */

struct ticket_queue;
struct ticket;

/* What a ticket's worker is told of it. */
struct ticket_notice {
    enum locks_result ended; /* LOCKS_CANCELLED or _SUPERSEDED: another request has removed it;
                                LOCKS_DONE: it is the first now, */
    int64_t version; /* and was so behind a hold that it must wait for: the hold's version, */
    uint64_t until;  /* and its end, as uv_now; version 0: no such hold is known */
};

/* One worker's side. `notify` runs on the loop's thread for each notice. */
struct ticket_worker {
    struct tickets *tickets;
    uv_async_t woken;
    void (*notify)(struct ticket *ticket, const struct ticket_notice *notice);
    void *context; /* for its owner */
    LIST_HEAD(ticket_notices, ticket) notices;
};

/* Why a ticket was refused: so many wait already, or this is what the earlier ticket waits for. */
struct ticket_refused {
    int64_t queue_length;
    char owner[OWNER_LENGTH];
    size_t owner_length;
    enum lock_mode mode;
    bool is_other_set;
    int reentry; /* as in struct lock_view */
};

/* One waiter. Its owner embeds it, zeroed, and sets the first members before it joins. */
struct ticket {
    struct slice token; /* the first member: as base/tree.h wants */
    struct slice owner;
    struct slice client; /* all live for as long as the ticket, */
    uint64_t since;      /* as uv_now, */
    int64_t since_us;    /* and by the wall clock, since 1970; */
    void *context;
    int64_t set;
    enum lock_mode mode;
    bool is_reentrant;
    bool owner_is_made; /* and all these are constant */
    bool is_present;    /* this and the rest, but for `refused`, are for tickets.c alone */
    bool has_notice;
    struct ticket_refused refused; /* set by ticket_join if it returns TICKET_REFUSED or _IN_USE */
    struct ticket_worker *worker;  /* NULL: it never joined */
    struct ticket_queue *queue;    /* NULL: it has left */
    TAILQ_ENTRY(ticket) others;
    LIST_ENTRY(ticket) notified;
    struct ticket_notice notice;
};

void ticket_worker_open(struct ticket_worker *worker, struct tickets *tickets, uv_loop_t *loop,
                        void (*notify)(struct ticket *ticket, const struct ticket_notice *notice),
                        void *context);

/* Call this when all tickets of the worker have left; `closed` gets a handle whose data is the
 * worker. */
void ticket_worker_close(struct ticket_worker *worker, uv_close_cb closed);

/* The first present waiter for the name, if it is this worker's; else NULL. */
struct ticket *ticket_worker_first(const struct ticket_worker *worker, struct slice key);

enum ticket_joined { TICKET_FIRST, TICKET_BEHIND, TICKET_REFUSED, TICKET_IN_USE };

/* The ticket waits for the name from now on: behind all others, or in the place of an earlier
 * ticket with its token, which is ended. TICKET_REFUSED: `most` tickets wait already.
 * TICKET_IN_USE: the earlier one waits for something else, and goes on. */
enum ticket_joined ticket_join(struct ticket *ticket, struct ticket_worker *worker,
                               struct slice key, int64_t most);

/* Call this and the next three on the ticket's own thread. The ticket waits no longer; if it was
 * the first, the next one is told. `got`: the hold that it has now, or NULL. It may have left
 * before, or never have joined. */
void ticket_leave(struct ticket *ticket, const struct hold *got);

/* The ticket keeps its place, but is passed over. Returns false if it has left. */
bool ticket_step_aside(struct ticket *ticket);

/* Moves the ticket in front of all others. */
void ticket_come_first(struct ticket *ticket);
bool ticket_is_first(const struct ticket *ticket);

/* Whether any waiter for the name is present. */
bool tickets_wait(struct tickets *tickets, struct slice key);

/* Ends the ticket with this token, of any worker. Returns false if none waits with it. */
bool tickets_cancel(struct tickets *tickets, struct slice key, struct slice token);

/* Sets queue_length and the waiters of the view, whose texts point to `ret_texts`, and the position
 * of the token's waiter. */
struct ticket_texts {
    char owners[LOCK_WAITERS_SHOWN][OWNER_LENGTH];
    char clients[LOCK_WAITERS_SHOWN][LOCK_CLIENT_LENGTH];
};
void tickets_show(struct tickets *tickets, struct slice key, struct slice token, uint64_t now,
                  struct lock_view *view, struct ticket_texts *ret_texts);

#endif
