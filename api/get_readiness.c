#include "api/api.h"
#include "api/operations.h"
#include "api/problem.h"

static void checked(void *context, const struct locks_reply *reply)
{
    static const char BODY[] = "{\"status\":\"ready\"}\n";
    struct exchange *exchange = context;
    if (reply->result == LOCKS_DONE)
        reply_constant(exchange, 200, "application/json", BODY, sizeof BODY - 1);
    else
        problem_unavailable(exchange, reply->error);
    exchange_resume(exchange);
}

enum handling get_readiness(struct exchange *exchange)
{
    if (exchange->api->draining || health_is_leaving(exchange->api->health)) {
        problem_simply(exchange, PROBLEM_DRAINING, "send requests to another batond");
        return ANSWERED;
    }
    locks_ready(exchange->api->locks, checked, exchange);
    return PARKED;
}
