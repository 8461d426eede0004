#include "locks/quorum/waiters.h"

#include "base/memory.h"
#include "base/random.h"
#include "locks/calls/request.h"
#include "locks/calls/view_copy.h"
#include "locks/quorum/acquire_round.h"
#include "locks/quorum/awaited_name.h"
#include "locks/quorum/read.h"
#include "locks/quorum/state.h"
#include "locks/quorum/write.h"
#include "locks/waiting/parked.h"

#include <stdlib.h>

enum { INSISTENCE_MS = 60 }; /* how long a request without wait tries again after split votes */

enum quorum_waiter_state {
    WAITER_TRIES,   /* it does not wait, but tries again after split votes */
    WAITER_WAITS,   /* its wait runs */
    WAITER_IS_OVER, /* its wait has ended; a question under way decides its answer */
    WAITER_ENDS, /* it left the queue, or was not let in: answered in the next turn of the loop */
    WAITER_IS_KEPT, /* answered; a later request may take its place */
    WAITER_LEFT,    /* answered or given up; freed once its inspect is answered */
};

/* A request from its first try to its answer, and its place while it is kept. */
struct quorum_waiter {
    struct parked parked; /* the first member */
    struct local_place place;
    struct awaited_name *awaited;
    locks_done *done; /* NULL: answered or given up */
    struct acquirer acquirer;
    uv_timer_t timer; /* the end of the wait or of a kept place; for an acquire without wait, its
                       * next try */
    struct acquire_round *round;
    enum quorum_waiter_state state;
    enum locks_result end;  /* the result in WAITER_ENDS */
    struct lock_view *used; /* with LOCKS_TOKEN_IN_USE: the other use of the token; else NULL */
    bool is_reading;        /* an inspect of the name is under way */
    bool is_queued;         /* `acquirer.queued` has run */
    uint64_t begun;         /* loop time, ms */
    struct acquire acquire;
    char bytes[];
};

static struct locks *quorum_waiter_locks(const struct quorum_waiter *waiter)
{
    return waiter->awaited->locks;
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

/* If another waiter is now the first, plans when it asks. `got` is the hold that the waiter before
 * it has got, or NULL. */
static void quorum_waiters_pass_on(struct awaited_name *awaited, const struct local_place *before,
                                   const struct hold *got)
{
    const struct local_place *first = awaited->queue.first;
    if (!first)
        awaited_name_rest(awaited);
    else if (first != before && got && local_place_is_excluded(first, got))
        awaited_name_taken(awaited, got->version, got->ttl_ms);
    else if (first != before)
        awaited_name_plan_round(awaited, 0);
}

/* `got`: the hold that it has got, or NULL. */
static void quorum_waiter_take_out(struct quorum_waiter *waiter, const struct hold *got)
{
    struct local_queue *queue = &waiter->awaited->queue;
    const struct local_place *before = queue->first;
    if (!waiter->place.queue)
        return;
    local_queue_leave(&waiter->place);
    if (got && !waiter->acquire.owner_is_made)
        local_queue_let_enter(queue, got);
    quorum_waiters_pass_on(waiter->awaited, before, got);
}

static void quorum_waiter_step_aside(struct quorum_waiter *waiter)
{
    const struct local_place *before = waiter->awaited->queue.first;
    local_queue_step_aside(&waiter->place);
    quorum_waiters_pass_on(waiter->awaited, before, NULL);
}

/* The end of a request */

static void quorum_waiter_on_closed(uv_handle_t *timer)
{
    struct quorum_waiter *waiter = timer->data;
    free(waiter->used);
    free(waiter);
}

static void stop_asking(struct quorum_waiter *waiter)
{
    waiter->done = NULL;
    if (waiter->round)
        acquire_round_abandon(waiter->round);
    waiter->round = NULL;
    uv_timer_stop(&waiter->timer);
}

/* Frees the waiter, or lets the reply to an inspect under way do so. */
static void quorum_waiter_discard(struct quorum_waiter *waiter)
{
    stop_asking(waiter);
    quorum_waiter_take_out(waiter, NULL);
    waiter->state = WAITER_LEFT;
    if (waiter->is_reading)
        return;
    uv_close((uv_handle_t *)&waiter->timer, quorum_waiter_on_closed);
    awaited_name_leave(waiter->awaited);
}

static void waiter_on_kept_long_enough(uv_timer_t *timer)
{
    quorum_waiter_discard(timer->data);
}

/* Ends the request. With `is_kept` a later request with the same token may take over the place. */
static void quorum_waiter_leave(struct quorum_waiter *waiter, bool is_kept)
{
    if (!is_kept || waiter->acquire.keep_ms == 0 || !waiter->place.queue) {
        quorum_waiter_discard(waiter);
        return;
    }
    stop_asking(waiter);
    quorum_waiter_step_aside(waiter);
    waiter->state = WAITER_IS_KEPT;
    uv_timer_start(&waiter->timer, waiter_on_kept_long_enough, (uint64_t)waiter->acquire.keep_ms,
                   0);
}

static void quorum_waiter_finish(struct quorum_waiter *waiter, const struct locks_reply *reply)
{
    locks_done *done = waiter->done;
    struct locks_reply answer = *reply;
    bool is_kept = reply->result == LOCKS_TIMEOUT && waiter->acquire.keep_ms > 0;
    if (reply->result == LOCKS_LOCKED || reply->result == LOCKS_TIMEOUT ||
        reply->result == LOCKS_TOO_MANY_WAITERS)
        local_queue_show(&waiter->awaited->queue,
                         is_kept ? quorum_waiter_token(waiter) : slice_of(NULL),
                         uv_now(quorum_waiter_locks(waiter)->loop), &answer.view);
    waiter->done = NULL;
    done(waiter->acquirer.context, &answer);
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

/* The request has the lock. If its client is gone, that is about to be reported; the next waiter
 * need not wait for it. */
static void quorum_waiter_take(struct quorum_waiter *waiter, const struct locks_reply *reply)
{
    struct locks *locks = quorum_waiter_locks(waiter);
    char name[NAME_LENGTH];
    if (!waiter->acquirer.is_connected(waiter->acquirer.context)) {
        quorum_take_back(locks, operation_name(locks, waiter->awaited->key, name),
                         quorum_waiter_token(waiter), &reply->attempt, 0);
        if (waiter->place.queue)
            quorum_waiter_step_aside(waiter);
        return;
    }
    locks_done *done = waiter->done;
    waiter->done = NULL;
    quorum_waiter_take_out(waiter, &reply->hold);
    done(waiter->acquirer.context, reply);
    quorum_waiter_leave(waiter, false);
}

/* Calls `acquirer.queued` once. */
static void quorum_waiter_note_queued(struct quorum_waiter *waiter)
{
    if (!waiter->is_queued && waiter->acquirer.queued)
        waiter->acquirer.queued(waiter->acquirer.context, waiter->acquire.name);
    waiter->is_queued = true;
}

static bool quorum_waiter_is_own(const struct quorum_waiter *waiter, const struct lock_view *view)
{
    bool is_own = view->mine;
    for (size_t i = 0; waiter->acquire.is_reentrant && i < view->holder_count; i++)
        is_own |=
            !view->holders[i].released && slice_same(view->holders[i].owner, waiter->acquire.owner);
    return is_own;
}

/* A request that has a hold already, or whose owner has one that it may enter, goes to the front:
 * no other waiter can get the lock before that hold ends. It goes back once that hold has ended. */
static void quorum_waiter_find_place(struct quorum_waiter *waiter, const struct lock_view *view)
{
    if (quorum_waiter_is_own(waiter, view))
        local_queue_come_first(&waiter->place);
    else
        local_queue_go_back(&waiter->place);
}

/* Lets a refused request wait on. */
static void stay(struct quorum_waiter *waiter, const struct locks_reply *reply,
                 const struct tally *tally)
{
    const struct local_place *before = waiter->awaited->queue.first;
    quorum_waiter_find_place(waiter, &reply->view);
    if (local_place_is_first(&waiter->place))
        awaited_name_refused(waiter->awaited, tally);
    else
        quorum_waiters_pass_on(waiter->awaited, before, NULL);
    awaited_name_enlist(waiter->awaited);
    quorum_waiter_note_queued(waiter);
}

static void refused(struct quorum_waiter *waiter, const struct locks_reply *reply,
                    const struct tally *tally)
{
    bool is_split = tally_is_split(tally);
    struct locks_reply timeout = *reply;
    timeout.result = LOCKS_TIMEOUT;
    if (waiter->state == WAITER_IS_OVER) {
        quorum_waiter_finish(waiter, &timeout);
    } else if (waiter->state == WAITER_WAITS) {
        stay(waiter, reply, tally);
    } else if (is_split &&
               uv_now(quorum_waiter_locks(waiter)->loop) < waiter->begun + INSISTENCE_MS) {
        uv_timer_start(&waiter->timer, waiter_on_try_again, 2 + random_below(10), 0);
    } else {
        quorum_waiter_finish(waiter, reply);
    }
}

/* Too many members are in quarantine: the waiter asks again later. */
static void requeue_quarantined(struct quorum_waiter *waiter)
{
    awaited_name_enlist(waiter->awaited);
    quorum_waiter_note_queued(waiter);
    awaited_name_unanswered(waiter->awaited);
}

static void round_done(void *context, const struct locks_reply *reply, const struct tally *tally)
{
    struct quorum_waiter *waiter = context;
    waiter->round = NULL;
    bool waits = waiter->state == WAITER_WAITS;
    if (reply_holds(reply))
        quorum_waiter_take(waiter, reply);
    else if (reply->result == LOCKS_LOCKED)
        refused(waiter, reply, tally);
    else if (reply->result == LOCKS_UNAVAILABLE && waits && waiter->is_queued)
        awaited_name_unanswered(waiter->awaited);
    else if (reply->result == LOCKS_QUARANTINED && waits)
        requeue_quarantined(waiter);
    else
        quorum_waiter_finish(waiter, reply);
}

void quorum_waiters_ask(struct awaited_name *awaited)
{
    const struct local_place *first = awaited->queue.first;
    struct quorum_waiter *waiter = first ? first->waiter : NULL;
    if (!waiter)
        awaited_name_rest(awaited);
    else if (!waiter->is_reading)
        try_now(waiter);
}

/* Inspecting: a waiter behind others does not ask for the lock, but its token may hold it. */

/* The result of a request that only reads the name. */
static enum locks_result quorum_waiter_refused(const struct quorum_waiter *waiter,
                                               const struct lock_view *view)
{
    enum quarantine_reason reason;
    if (view->hold_count == 0 && locks_pause(quorum_waiter_locks(waiter), &reason) > 0)
        return LOCKS_QUARANTINED;
    return waiter->state == WAITER_TRIES ? LOCKS_LOCKED : LOCKS_TIMEOUT;
}

static void name_read(void *context, const struct locks_reply *reply)
{
    struct quorum_waiter *waiter = context;
    struct locks_reply answer = *reply;
    waiter->is_reading = false;
    if (waiter->state == WAITER_LEFT) {
        quorum_waiter_discard(waiter);
        return;
    }
    if (waiter->state == WAITER_IS_KEPT || waiter->state == WAITER_ENDS)
        return;
    bool is_own = reply->result == LOCKS_DONE && quorum_waiter_is_own(waiter, &reply->view);
    bool waits = waiter->state == WAITER_WAITS, is_over = waiter->state == WAITER_IS_OVER;
    if (is_own && waits)
        local_queue_come_first(&waiter->place);
    if (is_own ? !is_over : waits && local_place_is_first(&waiter->place)) {
        try_now(waiter);
    } else if (!waits || reply->result != LOCKS_DONE) {
        if (reply->result == LOCKS_DONE)
            answer.result = quorum_waiter_refused(waiter, &reply->view);
        quorum_waiter_finish(waiter, &answer);
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

/* Ending: never at once, since another caller's request may be the cause. */

static void quorum_waiter_on_end(uv_timer_t *timer)
{
    struct quorum_waiter *waiter = timer->data;
    struct locks_reply reply = {.result = waiter->end};
    if (waiter->used)
        reply.view = *waiter->used;
    quorum_waiter_finish(waiter, &reply);
}

static void quorum_waiter_end(struct quorum_waiter *waiter, enum locks_result end)
{
    locks_done *done = waiter->done;
    if (!done) {
        quorum_waiter_discard(waiter);
        return;
    }
    stop_asking(waiter);
    quorum_waiter_take_out(waiter, NULL);
    waiter->done = done;
    waiter->state = WAITER_ENDS;
    waiter->end = end;
    uv_timer_start(&waiter->timer, quorum_waiter_on_end, 0, 0);
}

bool quorum_waiters_cancel(const struct locks *locks, struct slice key, struct slice token)
{
    struct awaited_name *awaited = awaited_name_find(locks, key);
    struct local_place *place = awaited ? local_queue_find(&awaited->queue, token) : NULL;
    if (place)
        quorum_waiter_end(place->waiter, LOCKS_CANCELLED);
    return place != NULL;
}

/* Joining */

/* Whether one may repeat the other. */
static bool quorum_waiter_repeats(const struct acquire *acquire, const struct acquire *earlier)
{
    return acquire->mode == earlier->mode && acquire->set == earlier->set &&
           acquire->is_reentrant == earlier->is_reentrant &&
           (acquire->owner_is_made || slice_same(acquire->owner, earlier->owner));
}

static struct lock_view *quorum_waiter_used(const struct acquire *acquire,
                                            const struct acquire *earlier)
{
    const struct lock_view view = {
        .holders = {{.owner = earlier->owner, .mode = earlier->mode}},
        .holder_count = 1,
        .is_other_set = earlier->set != acquire->set,
        .reentry = (int)earlier->is_reentrant - (int)acquire->is_reentrant,
    };
    return view_copy(&view);
}

/* Joins behind all others, or takes the place of an earlier request with its token, which ends. */
static void quorum_waiter_join(struct quorum_waiter *waiter)
{
    struct awaited_name *awaited = waiter->awaited;
    struct local_queue *queue = &awaited->queue;
    struct local_place *earlier = local_queue_find(queue, quorum_waiter_token(waiter));
    waiter->place = (struct local_place){.token = quorum_waiter_token(waiter),
                                         .acquire = &waiter->acquire,
                                         .since = waiter->begun,
                                         .since_us = wall_clock_us(),
                                         .waiter = waiter};
    if (!earlier && queue->count >= awaited->locks->options.max_waiters) {
        quorum_waiter_end(waiter, LOCKS_TOO_MANY_WAITERS);
    } else if (earlier && !quorum_waiter_repeats(&waiter->acquire, earlier->acquire)) {
        waiter->used = quorum_waiter_used(&waiter->acquire, earlier->acquire);
        quorum_waiter_end(waiter, LOCKS_TOKEN_IN_USE);
    } else {
        local_queue_join(queue, &waiter->place, earlier);
        if (earlier)
            quorum_waiter_end(earlier->waiter, LOCKS_SUPERSEDED);
    }
}

static void quorum_waiter_on_over(uv_timer_t *timer)
{
    struct quorum_waiter *waiter = timer->data;
    waiter->state = WAITER_IS_OVER;
    if (waiter->round || waiter->is_reading)
        return; /* its answer ends the wait */
    if (local_place_is_first(&waiter->place))
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

struct waiter *quorum_wait(struct locks *locks, const struct acquire *acquire,
                           const struct acquirer *acquirer, locks_done *done)
{
    struct quorum_waiter *waiter = quorum_waiter_new(locks, acquire, acquirer, done);
    waiter->state = WAITER_WAITS;
    uv_timer_start(&waiter->timer, quorum_waiter_on_over, (uint64_t)acquire->wait_ms, 0);
    if (locks->draining)
        quorum_waiter_end(waiter, LOCKS_DRAINING);
    else if (acquirer->is_connected(acquirer->context))
        quorum_waiter_join(waiter);
    if (local_place_is_first(&waiter->place)) {
        try_now(waiter);
    } else if (waiter->place.queue) {
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
    if (waiter->awaited->queue.first)
        quorum_waiter_read_name(waiter);
    else
        try_now(waiter);
}

/* Draining */

void quorum_waiters_drain(struct awaited_name *awaited)
{
    struct local_place *place;
    awaited->users++;
    while ((place = TAILQ_FIRST(&awaited->queue.places))) {
        struct quorum_waiter *waiter = place->waiter;
        if (waiter->done)
            quorum_waiter_finish(waiter, &(struct locks_reply){.result = LOCKS_DRAINING});
        else
            quorum_waiter_discard(waiter);
    }
    awaited_name_leave(awaited);
}
