#include "api/access/completion.h"

#include "api/access/limits.h"
#include "api/access/ownership.h"
#include "api/http/exchange.h"

#include <stdlib.h>

void exchange_resume(struct exchange *exchange)
{
    if (!exchange->stream.is_stream) /* the wait ends before the client gets its reply */
        limits_leave(exchange);
    if (exchange->reply.status == 409)
        limits_charge_miss(exchange);
    exchange->answered(exchange);
}

void exchange_clear(struct exchange *exchange)
{
    if (exchange->hung_up)
        exchange->hung_up(exchange);
    json_decref(exchange->kept.json);
    free(exchange->kept.decoded);
    free(exchange->kept.meta);
    free(exchange->kept.owned_body);
    free(exchange->grants);
    free(exchange->parameters.names);
    free(exchange->stream.bytes);
    limits_received(exchange);
    limits_leave(exchange);
    principal_drop(exchange->principal);
    ownership_free(exchange->holder.ownership);
    explicit_bzero(exchange->holder.made_token, sizeof exchange->holder.made_token);
    exchange->kept.json = NULL;
    exchange->principal = NULL;
    exchange->holder.ownership = NULL;
    exchange->kept.decoded = exchange->kept.meta = exchange->kept.owned_body = NULL;
    exchange->stream.bytes = NULL;
    exchange->grants = NULL;
    exchange->parameters.names = NULL;
    exchange->hung_up = NULL;
}
