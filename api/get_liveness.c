#include "api/api.h"
#include "api/operations.h"

/* Whoever answers is alive: its loop turns. Redis is readiness' affair. */
enum handling get_liveness(struct exchange *exchange)
{
    static const char BODY[] = "{\"status\":\"ok\"}\n";
    reply_constant(exchange, 200, "application/json", BODY, sizeof BODY - 1);
    return ANSWERED;
}
