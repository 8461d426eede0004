#include "api/exchange.h"
#include "api/openapi.h"
#include "api/operations.h"

enum handling get_openapi(struct exchange *exchange)
{
    reply_constant(exchange, 200, "application/yaml", openapi_yaml, openapi_yaml_length);
    return ANSWERED;
}
