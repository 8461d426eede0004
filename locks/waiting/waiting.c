#include "locks/waiting/waiting.h"

#include "base/memory.h"
#include "locks/calls/confirm.h"
#include "locks/calls/request.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/expiries.h"
#include "locks/waiting/leave.h"
#include "locks/waiting/parked.h"
#include "locks/waiting/subscription.h"

#include <assert.h>
#include <stdio.h>

enum waiter_state {
    WAITER_NEW,        /* Redis has not replied yet that it is in the queue */
    WAITER_QUEUED,     /* Redis has */
    WAITER_CONFIRMING, /* it holds, but its client may not know yet: see confirm.h */
    WAITER_ENDED,      /* answered or abandoned; freed when nothing is pending */
};

/* The script that is under way, and what comes after its reply. */
enum waiter_script {
    SCRIPT_NONE,
    SCRIPT_ASK,       /* for the lock, for a place in the queue, or whether its turn has come */
    SCRIPT_ASK_AGAIN, /* the same, then once more: a message has come since it was sent */
    SCRIPT_ASK_LAST,  /* the same, then SCRIPT_LEAVE: the wait has ended since it was sent */
    SCRIPT_LEAVE, /* the wait has ended. Redis decides whether the grant or the end came first */
};

/* A request from its first try to its answer. It runs one script at a time. */
struct waiter {
    struct parked parked; /* the first member */
    TAILQ_ENTRY(waiter) others;
    struct subscription *subscription;
    locks_done *done;
    struct acquirer acquirer;
    uv_timer_t timer; /* the end of the wait */
    enum waiter_state state;
    enum waiter_script script;
    unsigned pending;     /* replies of Redis and of confirm.h that are still to come */
    uint64_t run;         /* the run of the Redis that queued it: see waiting_run */
    uint64_t notified_at; /* uv_hrtime when the message about its grant came; 0: not yet */
    struct attempt attempt;
    struct acquire acquire;
    char bytes[];
};

static struct locks *waiting_locks(const struct waiter *waiter)
{
    return waiter->subscription->locks;
}

static bool waiting_is_connected(const struct waiter *waiter)
{
    return waiter->acquirer.is_connected(waiter->acquirer.context);
}

static void waiting_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void waiting_free_if_idle(struct waiter *waiter)
{
    if (waiter->pending > 0)
        return;
    uv_close((uv_handle_t *)&waiter->timer, waiting_on_closed);
    subscription_leave(waiter->subscription);
}

/* Takes the waiter off the list, where messages find it. */
static void waiting_end(struct waiter *waiter)
{
    TAILQ_REMOVE(&waiter->subscription->waiters, waiter, others);
    uv_timer_stop(&waiter->timer);
    waiter->state = WAITER_ENDED;
    waiting_free_if_idle(waiter);
}

static void waiting_leave(struct waiter *waiter, enum leaving how)
{
    leave_queue(waiting_locks(waiter), waiter->subscription->key, waiter->acquire.token,
                &waiter->attempt, how, waiter->acquire.keep_ms);
}

static void waiting_finish(struct waiter *waiter, const struct locks_reply *reply)
{
    assert(waiter->state != WAITER_ENDED);
    waiter->state = WAITER_ENDED;
    if (reply_holds(reply))
        expiries_note(waiting_locks(waiter), waiter->subscription->key, &reply->hold);
    waiter->done(waiter->acquirer.context, reply);
    waiting_end(waiter);
}

static void waiting_confirmed(void *context, const struct locks_reply *reply)
{
    struct waiter *waiter = context;
    waiter->pending--;
    if (waiter->state == WAITER_ENDED) {
        waiting_free_if_idle(waiter);
        return;
    }
    if (!reply_holds(reply))
        waiting_leave(waiter, LEAVE_GONE);
    waiting_finish(waiter, reply);
}

/* Answers the client with the reply that is being read. A hold may first wait for replicas;
 * meanwhile the waiter does not block others. */
static void waiting_report(struct waiter *waiter, const struct locks_reply *reply)
{
    struct locks *locks = waiting_locks(waiter);
    if (!confirm_reply(locks, reply, store_mark(locks->store), waiter->acquire.replicas,
                       waiting_confirmed, waiter)) {
        waiting_finish(waiter, reply);
        return;
    }
    waiter->state = WAITER_CONFIRMING;
    waiter->pending++;
    uv_timer_stop(&waiter->timer);
}

static void waiting_answered(void *context, const struct store_result *result);

/* A leave is under way for an abandoned waiter: no script may ask for the lock after that. */
static bool waiting_is_wanted(const void *context)
{
    const struct waiter *waiter = context;
    return waiter->state != WAITER_ENDED;
}

static void waiting_ask(struct waiter *waiter, enum request_kind kind)
{
    waiter->script = SCRIPT_ASK;
    waiter->pending++;
    const struct request request = {
        .key = waiter->subscription->key,
        .acquire = &waiter->acquire,
        .attempt = &waiter->attempt,
        .kind = kind,
        .is_wanted = waiting_is_wanted,
        .done = waiting_answered,
        .context = waiter,
    };
    request_send(waiting_locks(waiter), &request);
}

static void waiting_ask_to_leave(struct waiter *waiter)
{
    char keep[DECIMAL_TEXT];
    const struct slice arguments[] = {
        stamp_placeholder(),
        waiter->acquire.token,
        slice_of(waiter->attempt.text),
        decimal_text(waiter->acquire.keep_ms, keep),
        slice_of("timeout"),
    };
    waiter->script = SCRIPT_LEAVE;
    waiter->pending++;
    const struct script_call call = {
        .script = &script_leave,
        .key = waiter->subscription->key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .is_wanted = waiting_is_wanted,
        .done = waiting_answered,
        .context = waiter,
    };
    store_eval(waiting_locks(waiter)->store, &call);
}

/* The first bytes of the run id of the Redis that keeps the name now. */
static uint64_t waiting_run(const struct waiter *waiter)
{
    const struct store *store = waiting_locks(waiter)->store;
    uint64_t run;
    memcpy(&run, store_peer(store, store_shard(store, waiter->subscription->key))->run_id,
           sizeof run);
    return run;
}

/* If another Redis than the one that queued the waiter answers, such as a promoted replica, its
 * state may be older: the place may still be an earlier request's. So the waiter takes it over
 * again. */
static void waiting_ask_again(struct waiter *waiter)
{
    if (waiter->script == SCRIPT_ASK)
        waiter->script = SCRIPT_ASK_AGAIN;
    else if (waiter->script == SCRIPT_NONE && waiter->state != WAITER_CONFIRMING)
        waiting_ask(waiter, waiter->run == waiting_run(waiter) ? REQUEST_AGAIN : REQUEST_FIRST);
}

/* Redis is down now. A waiter in the queue stays there: it asks again when Redis is back, when this
 * worker gets messages again, or after a second. If another release wrote the record, the client
 * must ask a batond of that release. */
static bool waiting_keeps_place(const struct waiter *waiter, const struct store_result *result,
                                const struct request_answer *answer)
{
    return answer->reply.result == LOCKS_UNAVAILABLE && !result->is_foreign &&
           waiter->state == WAITER_QUEUED;
}

/* Redis has replied with a final result. */
static void waiting_conclude(struct waiter *waiter, const struct store_result *result,
                             struct request_answer *answer)
{
    struct locks_reply *reply = &answer->reply;
    bool is_queued = waiter->state == WAITER_QUEUED;
    if (reply->result == LOCKS_TOKEN_RELEASED && is_queued)
        reply->result = LOCKS_CANCELLED;
    if (request_is_in_doubt(result, answer) || (reply->result == LOCKS_UNAVAILABLE && is_queued))
        waiting_leave(waiter, LEAVE_GONE);
    reply->notified_at = waiter->notified_at;
    waiting_report(waiter, reply);
}

static void waiting_note_queued(struct waiter *waiter)
{
    if (waiter->state == WAITER_NEW && waiter->acquirer.queued)
        waiter->acquirer.queued(waiter->acquirer.context, waiter->acquire.name);
    waiter->state = WAITER_QUEUED;
}

static void waiting_answered(void *context, const struct store_result *result)
{
    struct waiter *waiter = context;
    enum waiter_script script = waiter->script;
    bool is_over = script == SCRIPT_ASK_LAST || script == SCRIPT_LEAVE;
    waiter->script = SCRIPT_NONE;
    waiter->pending--;
    if (waiter->state == WAITER_ENDED) {
        waiting_free_if_idle(waiter);
        return;
    }
    if (waiter->state == WAITER_CONFIRMING) /* a release delivered the hold before this reply */
        return;
    struct request_answer answer;
    request_read(result, &waiter->acquire, &waiter->attempt, &answer);
    operation_note(waiting_locks(waiter), &answer.reply);
    request_note_limits(waiting_locks(waiter), &waiter->acquire, &answer);
    if (answer.waits) {
        waiting_note_queued(waiter);
        waiter->run = waiting_run(waiter);
        subscription_plan(waiter->subscription, answer.next_ms);
        if (is_over)
            waiting_ask_to_leave(waiter);
        else if (script == SCRIPT_ASK_AGAIN)
            waiting_ask_again(waiter);
    } else if (!is_over && waiting_keeps_place(waiter, result, &answer)) {
        waiting_locks(waiter)->check_again = true;
    } else {
        waiting_conclude(waiter, result, &answer);
    }
}

static void waiting_on_over(uv_timer_t *timer)
{
    struct waiter *waiter = timer->data;
    if (waiter->script != SCRIPT_NONE)
        waiter->script = SCRIPT_ASK_LAST;
    else if (waiting_locks(waiter)->draining && waiter->state == WAITER_NEW)
        waiting_finish(waiter, &(struct locks_reply){.result = LOCKS_DRAINING});
    else
        waiting_ask_to_leave(waiter);
}

static void waiting_abandon(struct parked *parked)
{
    struct waiter *waiter = (struct waiter *)parked;
    waiting_leave(waiter, LEAVE_GONE);
    waiting_end(waiter);
}

struct waiter *waiting_begin(struct locks *locks, const struct acquire *acquire,
                             const struct acquirer *acquirer, locks_done *done)
{
    struct waiter *waiter = memory_checked(calloc(1, sizeof *waiter + request_length(acquire)));
    char key[KEY_LENGTH];
    waiter->subscription = subscription_join(locks, operation_key(locks, acquire->name, key));
    waiter->parked.give_up = waiting_abandon;
    waiter->done = done;
    waiter->acquirer = *acquirer;
    waiter->attempt = request_attempt(locks, acquire->of_connection);
    waiter->acquire = request_copy(acquire, waiter->bytes);
    TAILQ_INSERT_TAIL(&waiter->subscription->waiters, waiter, others);
    uv_timer_init(locks->loop, &waiter->timer);
    waiter->timer.data = waiter;
    uv_update_time(locks->loop); /* without this, what the loop did since would shorten the wait */
    uv_timer_start(&waiter->timer, waiting_on_over,
                   locks->draining ? 0 : (uint64_t)acquire->wait_ms, 0);
    /* The client may have gone and asked elsewhere before this request was read: then it must not
     * take the place over. */
    if (!locks->draining && waiting_is_connected(waiter))
        waiting_ask(waiter, acquire->token_is_new ? REQUEST_NEW : REQUEST_FIRST);
    return waiter;
}

size_t waiting_check(struct subscription *subscription)
{
    size_t count = 0;
    for (struct waiter *waiter = TAILQ_FIRST(&subscription->waiters); waiter;
         waiter = TAILQ_NEXT(waiter, others)) {
        if (!waiting_is_connected(waiter))
            continue; /* its hang-up is about to be reported: it must not claim */
        waiting_ask_again(waiter);
        count++;
    }
    return count;
}

size_t waiting_count(const struct subscription *subscription)
{
    size_t count = 0;
    for (const struct waiter *waiter = TAILQ_FIRST(&subscription->waiters); waiter;
         waiter = TAILQ_NEXT(waiter, others))
        count += waiter->state == WAITER_QUEUED;
    return count;
}

/* The first in the queue is the first here, too, so the search is short. */
static struct waiter *waiting_find(const struct subscription *subscription, struct slice attempt)
{
    struct waiter *waiter = subscription ? TAILQ_FIRST(&subscription->waiters) : NULL;
    while (waiter && !slice_equals(attempt, waiter->attempt.text))
        waiter = TAILQ_NEXT(waiter, others);
    return waiter;
}

void waiting_granted(struct locks *locks, struct slice key, struct slice attempt,
                     struct slice token)
{
    struct waiter *waiter = waiting_find(subscription_find(locks, key), attempt);
    if (!waiter) { /* it may have claimed before the message came */
        struct attempt stale;
        snprintf(stale.text, sizeof stale.text, "%.*s", (int)attempt.length, attempt.bytes);
        leave_queue(locks, key, token, &stale, LEAVE_STALE, 0);
    } else if (waiting_is_connected(waiter)) {
        waiter->notified_at = uv_hrtime();
        waiting_ask_again(waiter);
    } /* otherwise its hang-up is about to be reported, which passes the grant on */
}

void waiting_claimed(struct locks *locks, struct slice key, struct slice attempt,
                     const struct hold *hold)
{
    struct waiter *waiter = waiting_find(subscription_find(locks, key), attempt);
    if (!waiter)
        return; /* it was abandoned: a leave is under way */
    if (!waiting_is_connected(waiter)) {
        /* The hang-up of the client is about to be reported; the next waiter need not wait for
         * that. */
        waiting_leave(waiter, LEAVE_GONE);
        return;
    }
    struct locks_reply reply = {
        .attempt = waiter->attempt, .notified_at = uv_hrtime(), .hold = *hold};
    subscription_plan(waiter->subscription, hold->ttl_ms);
    waiting_report(waiter, &reply);
}

void waiting_cancelled(struct locks *locks, struct slice key, struct slice attempt)
{
    struct waiter *waiter = waiting_find(subscription_find(locks, key), attempt);
    if (waiter)
        waiting_finish(waiter, &(struct locks_reply){.result = LOCKS_CANCELLED});
}

void waiting_drain(struct locks *locks)
{
    struct subscription *subscription = TAILQ_FIRST(&locks->subscriptions->list), *next;
    struct waiter *waiter;
    for (; subscription; subscription = next) {
        next = TAILQ_NEXT(subscription, others);
        /* A subscription that ends with its last waiter is freed later. */
        while ((waiter = TAILQ_FIRST(&subscription->waiters))) {
            waiting_leave(waiter, LEAVE_DRAIN);
            waiting_finish(waiter, &(struct locks_reply){.result = LOCKS_DRAINING});
        }
    }
}
