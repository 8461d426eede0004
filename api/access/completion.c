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
    json_decref(exchange->json);
    free(exchange->decoded);
    free(exchange->meta);
    free(exchange->owned_body);
    free(exchange->grants);
    free(exchange->parameters.names);
    free(exchange->stream.bytes);
    limits_received(exchange);
    limits_leave(exchange);
    principal_drop(exchange->principal);
    ownership_free(exchange->ownership);
    explicit_bzero(exchange->made_token, sizeof exchange->made_token);
    exchange->json = NULL;
    exchange->principal = NULL;
    exchange->ownership = NULL;
    exchange->decoded = exchange->meta = exchange->owned_body = NULL;
    exchange->stream.bytes = NULL;
    exchange->grants = NULL;
    exchange->parameters.names = NULL;
    exchange->hung_up = NULL;
}
