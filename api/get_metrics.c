#include "api/api.h"
#include "api/operations.h"

enum handling get_metrics(struct exchange *exchange)
{
    reply_owned(exchange, 200, "text/plain; version=0.0.4; charset=utf-8",
                exchange->api->metrics(exchange->api->context));
    return ANSWERED;
}
