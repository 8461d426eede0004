#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/operations/operations.h"
#include "api/stats/health.h"

/* The worker that answers reports on the others, too: the kernel still gives a stuck worker its
 * share of connections. Redis belongs to readiness. */
enum handling get_liveness(struct exchange *exchange)
{
    static const char BODY[] = "{\"status\":\"ok\"}\n";
    const struct health *health = exchange->api->health;
    size_t stuck = health_first_stuck(health), count = health_loops(health);
    if (stuck < count)
        problem_simply(exchange, PROBLEM_STUCK, HEALTH_STUCK, stuck + 1, count);
    else
        reply_constant(exchange, 200, "application/json", BODY, sizeof BODY - 1);
    return ANSWERED;
}
