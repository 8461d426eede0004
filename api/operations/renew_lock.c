#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/operations/acquisition.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

static void renew_on_done(void *context, const struct locks_reply *reply)
{
    struct exchange *exchange = context;
    lock_event_renewed(exchange, exchange->name, reply->result, &reply->hold);
    if (reply->result == LOCKS_DONE) {
        etag_reply(exchange, reply->hold.version);
        fence_reply(exchange, reply->hold.fence);
        reply_owned(exchange, 200, "application/json",
                    represent_hold(exchange->name, exchange->parameters.texts[FIELD_LOCK_TOKEN],
                                   &reply->hold));
    } else if (reply->result == LOCKS_NOT_HELD) {
        problem_simply(
            exchange, PROBLEM_NOT_HELD,
            "This token has no live hold, so nothing was renewed. Stop the work that the "
            "lock protects, and acquire the lock again.");
    } else if (reply->result == LOCKS_UNCONFIRMED) {
        problem_unconfirmed_renewal(exchange, reply->error);
    } else {
        problem_unanswered(exchange, reply->result, reply->error);
    }
    exchange_resume(exchange);
}

enum handling renew_lock(struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (!field_given(parameters, FIELD_LOCK_TOKEN)) {
        field_refuse(exchange, FIELD_LOCK_TOKEN,
                     "missing. Send it in the Lock-Token header or as \"token\" in the body.");
        return ANSWERED;
    }
    /* Without a TTL in the request this is 0: the hold keeps its TTL. */
    locks_renew(exchange->api->locks, exchange->name, exchange->holder.token,
                parameters->numbers[FIELD_TTL], acquisition_replicas(exchange), renew_on_done,
                exchange);
    return PARKED;
}
