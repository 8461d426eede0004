#include "api/api.h"
#include "api/operations.h"

#include <stdlib.h>

enum handling get_metrics(struct exchange *exchange)
{
    exchange->owned_body = exchange->api->metrics(exchange->api->context);
    if (!exchange->owned_body)
        abort();
    reply_constant(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", exchange->owned_body,
                   strlen(exchange->owned_body));
    return ANSWERED;
}
