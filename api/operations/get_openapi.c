#include "api/http/exchange.h"
#include "api/operations/openapi.h"
#include "api/operations/operations.h"

enum handling get_openapi(struct exchange *exchange)
{
    reply_constant(exchange, 200, "application/yaml", openapi_yaml, openapi_yaml_length);
    return ANSWERED;
}
