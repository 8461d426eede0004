#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/represent.h"
#include "api/operations/acquisition.h"
#include "api/operations/hold_connection.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

static void answer_hold(struct exchange *exchange, const struct locks_reply *reply)
{
    bool is_new = reply->result == LOCKS_DONE;
    unsigned status = is_new ? 201 : 200;
    acquisition_headers(exchange, &reply->hold);
    exchange->grant = (struct grant){exchange->name, reply->hold.fence, reply->attempt, is_new};
    if (exchange->wants_text)
        acquisition_answer_token(exchange, status);
    else
        reply_owned(exchange, status, "application/json",
                    represent_hold(exchange->name, acquisition_token(exchange), &reply->hold));
}

static void acquire_on_done(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    bool holds = reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED;
    exchange->hung_up = NULL;
    exchange->wait.notified_at = holds ? reply->notified_at : 0;
    lock_event_acquired(exchange, exchange->name, reply->result, holds ? &reply->hold : NULL);
    if (holds && field_given(&exchange->parameters, FIELD_HOLD)) {
        hold_connection(exchange, reply);
        return;
    }
    if (holds)
        answer_hold(exchange, reply);
    else
        acquisition_refuse(exchange, reply->result, &reply->view, reply->error, slice_of(NULL));
    exchange_resume(exchange);
}

static void acquire_on_hung_up(struct exchange *exchange)
{
    exchange->hung_up = NULL;
    lock_event_abandoned(exchange);
    locks_abandon(exchange->below);
}

static void acquire_on_queued(void *context, struct slice name)
{
    lock_event_queued(context, name);
}

enum handling acquire_lock(struct exchange *exchange)
{
    struct locks *locks = exchange->api->locks;
    struct acquire acquire;
    if (!acquisition_read(exchange, &acquire))
        return ANSWERED;
    acquire.name = exchange->name;
    if (acquire.wait_ms == 0) {
        locks_acquire(locks, &acquire, acquire_on_done, exchange);
        return PARKED;
    }
    exchange->wait.keep_ms = acquire.keep_ms;
    const struct acquirer acquirer = {exchange, exchange_is_connected, .queued = acquire_on_queued};
    exchange->below = locks_wait(locks, &acquire, &acquirer, acquire_on_done);
    exchange->hung_up = acquire_on_hung_up;
    return WAITING;
}
