#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/represent.h"
#include "api/operations/acquisition.h"
#include "api/operations/operations.h"
#include "api/operations/several.h"
#include "api/stats/lock_event.h"
#include "base/memory.h"

/* The exchange's own copy of the name, which lasts as long as the exchange. */
static struct slice own_name(const struct exchange *exchange, struct slice name)
{
    const struct slice *names = exchange->parameters.names;
    size_t i = 0;
    while (!slice_same(names[i], name))
        i++;
    return names[i];
}

/* Keeps what must be taken back if the reply does not reach the client. */
static void keep_grant(struct exchange *exchange, struct slice name,
                       const struct locks_reply *reply)
{
    if (!exchange->grants)
        exchange->grants =
            memory_checked(calloc(several_count(exchange), sizeof *exchange->grants));
    exchange->grants[exchange->grant_count++] =
        (struct grant){name, reply->hold.fence, reply->attempt, reply->result == LOCKS_DONE};
}

/* One name is granted. Others see this hold at once, whether or not the rest follow. */
static void granted(void *context, struct slice name, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    struct slice own = own_name(exchange, name);
    struct hold hold = reply->hold;
    /* Until all names are held, the hold has a short TTL that is renewed: report the client's. */
    if (reply->result == LOCKS_DONE)
        hold.ttl_ms = exchange->parameters.numbers[FIELD_TTL];
    keep_grant(exchange, own, reply);
    lock_event_acquired(exchange, own, reply->result, &hold);
}

static void answer_holds(struct exchange *exchange, const struct several_reply *reply)
{
    unsigned status = reply->result == LOCKS_DONE ? 201 : 200;
    if (exchange->wants_text)
        acquisition_answer_token(exchange, status);
    else
        reply_json(exchange, status, "application/json", several_holds(exchange, reply));
}

static void acquire_locks_on_done(void *context, const struct several_reply *reply)
{
    struct exchange *exchange = context;
    exchange->hung_up = NULL;
    if (reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED) {
        answer_holds(exchange, reply);
    } else {
        lock_event_acquired(exchange,
                            exchange->wait.queued_us ? exchange->wait.queued_name
                                                     : reply->each[reply->refused].name,
                            reply->result, NULL);
        lock_event_all_taken_back(exchange);
        bool refused = reply->result != LOCKS_UNAVAILABLE && reply->result != LOCKS_DRAINING &&
                       reply->result != LOCKS_UNCONFIRMED;
        acquisition_refuse(exchange, reply->result, &reply->view, reply->error,
                           refused ? reply->each[reply->refused].name : slice_of(NULL));
    }
    exchange_resume(exchange);
}

static void acquire_locks_on_hung_up(struct exchange *exchange)
{
    exchange->hung_up = NULL;
    lock_event_abandoned(exchange);
    lock_event_all_taken_back(exchange);
    several_abandon(exchange->below);
}

static void acquire_locks_on_queued(void *context, struct slice name)
{
    struct exchange *exchange = context;
    lock_event_queued(exchange, own_name(exchange, name));
}

enum handling acquire_locks(struct exchange *exchange)
{
    struct acquire acquire;
    if (!several_is_complete(exchange, false) || !acquisition_read(exchange, &acquire))
        return ANSWERED;
    const struct acquirer acquirer = {exchange, exchange_is_connected, acquire_locks_on_queued,
                                      granted};
    exchange->below =
        locks_acquire_several(exchange->api->locks, exchange->parameters.names,
                              several_count(exchange), &acquire, &acquirer, acquire_locks_on_done);
    exchange->hung_up = acquire_locks_on_hung_up;
    return WAITING;
}
