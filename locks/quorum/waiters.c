#include "locks/quorum/waiters.h"

#include "base/memory.h"
#include "base/random.h"
#include "locks/calls/request.h"
#include "locks/quorum/acquire_round.h"
#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"
#include "locks/quorum/write.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

enum { INSISTENCE_MS = 60 }; /* a request without wait tries again for so long if votes are split */

/* A request from its first try to its answer, and its place for as long as that is kept. */
struct quorum_waiter {
    struct parked parked;             /* the first member */
    struct ticket ticket;             /* of a waiter */
    LIST_ENTRY(quorum_waiter) others; /* that wait for the same name */
    struct awaited_name *awaited;
    locks_done *done; /* NULL: answered or given up */
    struct acquirer acquirer;
    uv_timer_t timer; /* the end of the wait or of a kept place; for an acquire without wait, its
                         next try */
    struct acquire_round *round;
    bool is_in_line;
    bool is_kept;
    bool waits;
    bool is_reading;           /* an inspect of the name is under way */
    bool is_own;               /* it has a hold already, or its owner has one that lets it in */
    bool is_queued;            /* `acquirer.queued` has run */
    enum locks_result refusal; /* LOCKS_DONE: none; else the queue has not taken it, and why */
    bool is_over;              /* the wait has ended, or the tries after a split vote have */
    uint64_t begun;            /* loop time, ms */
    struct acquire acquire;
    char bytes[];
};

static struct locks *quorum_waiter_locks(const struct quorum_waiter *waiter)
{
    return waiter->awaited->locks;
}

static struct tickets *tickets_of(const struct quorum_waiter *waiter)
{
    return quorum_waiter_locks(waiter)->quorum->ticket_worker.tickets;
}

static struct slice quorum_waiter_token(const struct quorum_waiter *waiter)
{
    return waiter->acquire.token;
}

/* Queueing */

static int64_t wall_clock_us(void)
{
    uv_timeval64_t now;
    uv_gettimeofday(&now);
    return now.tv_sec * INT64_C(1000000) + now.tv_usec;
}

static enum ticket_joined quorum_waiter_join(struct quorum_waiter *waiter)
{
    struct awaited_name *awaited = waiter->awaited;
    waiter->ticket = (struct ticket){.token = quorum_waiter_token(waiter),
                                     .owner = waiter->acquire.owner,
                                     .client = waiter->acquire.client,
                                     .mode = waiter->acquire.mode,
                                     .is_reentrant = waiter->acquire.is_reentrant,
                                     .owner_is_made = waiter->acquire.owner_is_made,
                                     .set = waiter->acquire.set,
                                     .since = waiter->begun,
                                     .since_us = wall_clock_us(),
                                     .context = waiter};
    enum ticket_joined joined = ticket_join(&waiter->ticket, &awaited->locks->quorum->ticket_worker,
                                            awaited->key, awaited->locks->options.max_waiters);
    if (joined == TICKET_REFUSED || joined == TICKET_IN_USE)
        return joined;
    waiter->is_in_line = true;
    LIST_INSERT_HEAD(&awaited->waiters, waiter, others);
    return joined;
}

/* `got`: the hold that it has now, or NULL. */
static void quorum_waiter_take_out(struct quorum_waiter *waiter, const struct hold *got)
{
    ticket_leave(&waiter->ticket, got);
    if (!waiter->is_in_line)
        return;
    LIST_REMOVE(waiter, others);
    waiter->is_in_line = false;
}

/* The end of a request */

static void quorum_waiter_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void stop_asking(struct quorum_waiter *waiter)
{
    waiter->done = NULL;
    if (waiter->round)
        acquire_round_abandon(waiter->round);
    waiter->round = NULL;
    uv_timer_stop(&waiter->timer);
}

/* If an inspect is under way, its reply frees the waiter. */
static void let_go(struct quorum_waiter *waiter)
{
    stop_asking(waiter);
    quorum_waiter_take_out(waiter, NULL);
    waiter->is_kept = false;
    if (waiter->is_reading)
        return;
    uv_close((uv_handle_t *)&waiter->timer, quorum_waiter_on_closed);
    awaited_name_leave(waiter->awaited);
}

static void waiter_on_kept_long_enough(uv_timer_t *timer)
{
    let_go(timer->data);
}

/* The request is over. With `is_kept` a later request with the same token takes over the place. */
static void quorum_waiter_leave(struct quorum_waiter *waiter, bool is_kept)
{
    if (!is_kept || waiter->acquire.keep_ms == 0 || !ticket_step_aside(&waiter->ticket)) {
        let_go(waiter);
        return;
    }
    stop_asking(waiter);
    waiter->is_kept = true;
    uv_timer_start(&waiter->timer, waiter_on_kept_long_enough, (uint64_t)waiter->acquire.keep_ms,
                   0);
}

static void quorum_waiter_finish(struct quorum_waiter *waiter, const struct locks_reply *reply)
{
    locks_done *done = waiter->done;
    struct locks_reply told = *reply;
    struct ticket_texts texts;
    bool is_kept = reply->result == LOCKS_TIMEOUT && waiter->acquire.keep_ms > 0;
    if (reply->result == LOCKS_LOCKED || reply->result == LOCKS_TIMEOUT ||
        reply->result == LOCKS_TOO_MANY_WAITERS)
        tickets_show(tickets_of(waiter), waiter->awaited->key,
                     is_kept ? quorum_waiter_token(waiter) : slice_of(NULL),
                     uv_now(quorum_waiter_locks(waiter)->loop), &told.view, &texts);
    waiter->done = NULL;
    done(waiter->acquirer.context, &told);
    quorum_waiter_leave(waiter, reply->result == LOCKS_TIMEOUT ||
                                    reply->result == LOCKS_QUARANTINED ||
                                    reply->result == LOCKS_UNAVAILABLE);
}

/* Trying */

static void round_done(void *context, const struct locks_reply *reply, const struct tally *tally);

static void try_now(struct quorum_waiter *waiter)
{
    if (waiter->round || !waiter->done)
        return;
    waiter->round =
        acquire_round_begin(quorum_waiter_locks(waiter), &waiter->acquire, round_done, waiter);
}

static void waiter_on_try_again(uv_timer_t *timer)
{
    try_now(timer->data);
}

/* The lock is held. If the client has gone, its hang-up is about to be reported; the next waiter
 * does not have to wait for that. */
static void quorum_waiter_take(struct quorum_waiter *waiter, const struct locks_reply *reply)
{
    struct locks *locks = quorum_waiter_locks(waiter);
    char name[NAME_LENGTH];
    if (!waiter->acquirer.is_connected(waiter->acquirer.context)) {
        quorum_take_back(locks, operation_name(locks, waiter->awaited->key, name),
                         quorum_waiter_token(waiter), &reply->attempt, 0);
        ticket_step_aside(&waiter->ticket);
        return;
    }
    locks_done *done = waiter->done;
    waiter->done = NULL;
    quorum_waiter_take_out(waiter, &reply->hold);
    done(waiter->acquirer.context, reply);
    quorum_waiter_leave(waiter, false);
}

/* `acquirer.queued` hears it once. */
static void quorum_waiter_note_queued(struct quorum_waiter *waiter)
{
    if (!waiter->is_queued && waiter->acquirer.queued)
        waiter->acquirer.queued(waiter->acquirer.context, waiter->acquire.name);
    waiter->is_queued = true;
}

/* A refused request that waits keeps its place. One that has a hold already, or re-enters, goes to
 * the front: no other waiter can get the lock before that hold ends. */
static void stay(struct quorum_waiter *waiter, const struct tally *tally)
{
    if (waiter->is_own)
        ticket_come_first(&waiter->ticket);
    if (ticket_is_first(&waiter->ticket))
        awaited_name_refused(waiter->awaited, tally);
    awaited_name_enlist(waiter->awaited);
    quorum_waiter_note_queued(waiter);
}

static void refused(struct quorum_waiter *waiter, const struct locks_reply *reply,
                    const struct tally *tally)
{
    bool is_split = tally_is_split(tally);
    struct locks_reply timeout = *reply;
    timeout.result = LOCKS_TIMEOUT;
    if (waiter->waits && waiter->is_over) {
        quorum_waiter_finish(waiter, &timeout);
    } else if (waiter->waits) {
        stay(waiter, tally);
    } else if (is_split &&
               uv_now(quorum_waiter_locks(waiter)->loop) < waiter->begun + INSISTENCE_MS) {
        uv_timer_start(&waiter->timer, waiter_on_try_again, 2 + random_below(10), 0);
    } else {
        quorum_waiter_finish(waiter, reply);
    }
}

/* Too many members are in quarantine: the waiter asks again later. */
static void sit_out(struct quorum_waiter *waiter)
{
    if (waiter->is_own)
        ticket_come_first(&waiter->ticket);
    awaited_name_enlist(waiter->awaited);
    quorum_waiter_note_queued(waiter);
    awaited_name_unanswered(waiter->awaited);
}

static void round_done(void *context, const struct locks_reply *reply, const struct tally *tally)
{
    struct quorum_waiter *waiter = context;
    waiter->round = NULL;
    bool can_stay = waiter->waits && !waiter->is_over && waiter->is_queued;
    if (reply_holds(reply))
        quorum_waiter_take(waiter, reply);
    else if (reply->result == LOCKS_LOCKED)
        refused(waiter, reply, tally);
    else if (reply->result == LOCKS_UNAVAILABLE && can_stay)
        awaited_name_unanswered(waiter->awaited);
    else if (reply->result == LOCKS_QUARANTINED && waiter->waits && !waiter->is_over)
        sit_out(waiter);
    else
        quorum_waiter_finish(waiter, reply);
}

void quorum_waiters_ask(struct awaited_name *awaited)
{
    const struct ticket *first =
        ticket_worker_first(&awaited->locks->quorum->ticket_worker, awaited->key);
    struct quorum_waiter *waiter = first ? first->context : NULL;
    if (!waiter)
        awaited_name_rest(awaited);
    else if (!waiter->is_reading)
        try_now(waiter);
}

/* Inspecting: a waiter behind others does not ask for the lock, but its token may hold it already.
 */

static bool quorum_waiter_is_own(const struct quorum_waiter *waiter, const struct lock_view *view)
{
    bool is_own = view->mine;
    for (size_t i = 0; waiter->acquire.is_reentrant && i < view->holder_count; i++)
        is_own |=
            !view->holders[i].released && slice_same(view->holders[i].owner, waiter->acquire.owner);
    return is_own;
}

/* The result of a request that has read the name and does not ask for it. */
static enum locks_result quorum_waiter_refused(const struct quorum_waiter *waiter,
                                               const struct lock_view *view)
{
    enum quarantine_reason reason;
    if (view->hold_count == 0 && locks_pause(quorum_waiter_locks(waiter), &reason) > 0)
        return LOCKS_QUARANTINED;
    return waiter->waits ? LOCKS_TIMEOUT : LOCKS_LOCKED;
}

static void name_read(void *context, const struct locks_reply *reply)
{
    struct quorum_waiter *waiter = context;
    struct locks_reply told = *reply;
    waiter->is_reading = false;
    if (!waiter->done) {
        if (!waiter->is_kept)
            let_go(waiter);
        return;
    }
    waiter->is_own = reply->result == LOCKS_DONE && quorum_waiter_is_own(waiter, &reply->view);
    bool is_told = waiter->is_over || !waiter->waits;
    if (waiter->is_own ? !waiter->is_over : !is_told && ticket_is_first(&waiter->ticket)) {
        try_now(waiter);
    } else if (is_told || reply->result != LOCKS_DONE) {
        if (reply->result == LOCKS_DONE)
            told.result = quorum_waiter_refused(waiter, &reply->view);
        quorum_waiter_finish(waiter, &told);
    } else {
        quorum_waiter_note_queued(waiter);
    }
}

static void quorum_waiter_read_name(struct quorum_waiter *waiter)
{
    struct locks *locks = quorum_waiter_locks(waiter);
    char name[NAME_LENGTH];
    waiter->is_reading = true;
    quorum_inspect(locks, operation_name(locks, waiter->awaited->key, name),
                   quorum_waiter_token(waiter), LOCK_WAITERS_SHOWN, name_read, waiter);
}

/* Coming */

static void quorum_waiter_refuse(struct quorum_waiter *waiter)
{
    const struct ticket_refused *refused = &waiter->ticket.refused;
    struct locks_reply reply = {.result = waiter->refusal};
    struct lock_view *view = &reply.view;
    view->queue_length = refused->queue_length;
    if (waiter->refusal == LOCKS_TOKEN_IN_USE) {
        view->holders[0] = (struct holder){.owner = {refused->owner, refused->owner_length},
                                           .mode = refused->mode};
        view->holder_count = 1;
        view->is_other_set = refused->is_other_set;
        view->reentry = refused->reentry;
    }
    quorum_waiter_finish(waiter, &reply);
}

static void quorum_waiter_on_over(uv_timer_t *timer)
{
    struct quorum_waiter *waiter = timer->data;
    waiter->is_over = true;
    if (waiter->refusal != LOCKS_DONE)
        quorum_waiter_refuse(waiter);
    else if (quorum_waiter_locks(waiter)->draining)
        quorum_waiter_finish(waiter, &(struct locks_reply){.result = LOCKS_DRAINING});
    else if (waiter->round || waiter->is_reading)
        return; /* that tells */
    else if (ticket_is_first(&waiter->ticket))
        try_now(waiter);
    else
        quorum_waiter_read_name(waiter);
}

static void waiter_give_up(struct parked *parked)
{
    quorum_waiter_leave((struct quorum_waiter *)parked, true);
}

static struct quorum_waiter *quorum_waiter_new(struct locks *locks, const struct acquire *acquire,
                                               const struct acquirer *acquirer, locks_done *done)
{
    char key[KEY_LENGTH];
    struct quorum_waiter *waiter =
        memory_checked(calloc(1, sizeof *waiter + request_length(acquire)));
    waiter->parked.give_up = waiter_give_up;
    waiter->awaited = awaited_name_join(locks, operation_key(locks, acquire->name, key));
    waiter->done = done;
    waiter->acquirer = *acquirer;
    waiter->begun = uv_now(locks->loop);
    waiter->acquire = request_copy(acquire, waiter->bytes);
    uv_timer_init(locks->loop, &waiter->timer);
    waiter->timer.data = waiter;
    return waiter;
}

static enum locks_result quorum_waiter_refusal(enum ticket_joined joined)
{
    if (joined == TICKET_REFUSED)
        return LOCKS_TOO_MANY_WAITERS;
    return joined == TICKET_IN_USE ? LOCKS_TOKEN_IN_USE : LOCKS_DONE;
}

struct waiter *quorum_wait(struct locks *locks, const struct acquire *acquire,
                           const struct acquirer *acquirer, locks_done *done)
{
    struct quorum_waiter *waiter = quorum_waiter_new(locks, acquire, acquirer, done);
    enum ticket_joined joined = TICKET_REFUSED;
    waiter->waits = true;
    if (!locks->draining && acquirer->is_connected(acquirer->context)) {
        joined = quorum_waiter_join(waiter);
        waiter->refusal = quorum_waiter_refusal(joined);
    }
    bool is_told_at_once = locks->draining || waiter->refusal != LOCKS_DONE;
    uv_timer_start(&waiter->timer, quorum_waiter_on_over,
                   is_told_at_once ? 0 : (uint64_t)acquire->wait_ms, 0);
    if (joined == TICKET_FIRST) {
        try_now(waiter);
    } else if (joined == TICKET_BEHIND) {
        awaited_name_enlist(waiter->awaited);
        quorum_waiter_read_name(waiter);
    }
    return (struct waiter *)waiter;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

void quorum_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                    void *context)
{
    const struct acquirer acquirer = {.context = context, .is_connected = always};
    struct quorum_waiter *waiter = quorum_waiter_new(locks, acquire, &acquirer, done);
    if (tickets_wait(tickets_of(waiter), waiter->awaited->key))
        quorum_waiter_read_name(waiter);
    else
        try_now(waiter);
}

/* What others do to them */

void quorum_waiters_notified(struct ticket *ticket, const struct ticket_notice *notice)
{
    struct quorum_waiter *waiter = ticket->context;
    uint64_t now = uv_now(quorum_waiter_locks(waiter)->loop);
    if (notice->ended != LOCKS_DONE && waiter->done)
        quorum_waiter_finish(waiter, &(struct locks_reply){.result = notice->ended});
    else if (notice->ended != LOCKS_DONE)
        let_go(waiter);
    else if (notice->version && notice->until > now)
        awaited_name_taken(waiter->awaited, notice->version, (int64_t)(notice->until - now));
    else
        quorum_waiters_ask(waiter->awaited);
}

void quorum_waiters_drain(struct awaited_name *awaited)
{
    struct quorum_waiter *waiter;
    awaited->users++;
    while ((waiter = LIST_FIRST(&awaited->waiters))) {
        if (waiter->done)
            quorum_waiter_finish(waiter, &(struct locks_reply){.result = LOCKS_DRAINING});
        else
            let_go(waiter);
    }
    awaited_name_leave(awaited);
}
