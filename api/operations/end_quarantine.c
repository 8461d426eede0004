#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/operations/operations.h"
#include "api/stats/lock_event.h"

static const char REPEAT[] = "Repeat the request until it is answered 200.";

static void reopened(void *context, unsigned ended, const char *error)
{
    struct exchange *exchange = context;
    if (ended > 0)
        lock_event_reopened(exchange, ended);
    if (error)
        problem_simply(
            exchange, PROBLEM_STORE_UNAVAILABLE,
            "The quarantine may go on. It has ended at %u of the servers of Redis, and %s. "
            "%s",
            ended, error, REPEAT);
    else
        reply_json(exchange, 200, "application/json", json_pack("{s:i}", "ended", (int)ended));
    exchange_resume(exchange);
}

enum handling end_quarantine(struct exchange *exchange)
{
    if (!field_given(&exchange->parameters, FIELD_REASON)) {
        field_refuse(exchange, FIELD_REASON,
                     "missing. Say why nobody uses a lock that Redis may have lost: the audit "
                     "log keeps the reason.");
        return ANSWERED;
    }
    if (locks_end_quarantines(exchange->api->locks, reopened, exchange))
        return PARKED;
    problem_simply(exchange, PROBLEM_STORE_UNAVAILABLE, "No server of Redis is known yet. %s",
                   REPEAT);
    return ANSWERED;
}
