#include "api/access/completion.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/operations/operations.h"
#include "api/stats/hold_counter.h"

static void metrics_answer(struct exchange *exchange)
{
    reply_owned(exchange, 200, "text/plain; version=0.0.4; charset=utf-8",
                exchange->api->metrics(exchange->api->context));
}

static void metrics_on_counted(void *context)
{
    metrics_answer(context);
    exchange_resume(context);
}

/* Only Redis knows the number of holds; while Redis is away, the metrics have the last known
 * number. */
enum handling get_metrics(struct exchange *exchange)
{
    struct api *api = exchange->api;
    if (api->hold_counter &&
        hold_counter_count(api->hold_counter, api->locks, metrics_on_counted, exchange))
        return PARKED;
    metrics_answer(exchange);
    return ANSWERED;
}
