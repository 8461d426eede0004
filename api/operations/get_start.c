#include "api/http/accept.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/operations/operations.h"
#include "api/principals/principals.h"

#include <stdio.h>
#include <stdlib.h>

/* What each command says of its caller. */
static const char *start_login(const struct api *api)
{
    if (principals_everybody(api->principals))
        return "";
    return api->asks_certificates ? " --cert FILE --key FILE"
                                  : " -H 'Authorization: Bearer API-KEY'";
}

static char *start_text(const struct exchange *exchange)
{
    const struct api *api = exchange->api;
    const char *login = start_login(api), *scheme = api->serves_https ? "https" : "http";
    const char *host = exchange->head.host ? exchange->head.host : "localhost";
    char *place, *text;
    if (asprintf(&place, "%s://%s", scheme, host) < 0 ||
        asprintf(&text,
                 "This is Baton, a lock service. Take a lock for 30 seconds, look at it, and "
                 "release it:\n\n"
                 "  token=$(curl -s -X POST -H 'Accept: text/plain'%s '%s/locks/demo?ttl=30s')\n"
                 "  curl%s '%s/locks/demo'\n"
                 "  curl -X DELETE -H \"Lock-Token: $token\"%s '%s/locks/demo'\n\n"
                 "%s/ui shows all locks in a browser. %s/openapi.yaml describes the API.\n",
                 login, place, login, place, login, place, place, place) < 0)
        abort();
    free(place);
    return text;
}

/* The address is relative, because a proxy may serve batond below a path of its own. */
enum handling get_start(struct exchange *exchange)
{
    reply_header(exchange, "Vary", "Accept");
    if (accept_prefers_page(exchange->head.accept)) {
        reply_header(exchange, "Location", "ui");
        reply_nothing(exchange, 302);
    } else {
        reply_owned(exchange, 200, "text/plain; charset=utf-8", start_text(exchange));
    }
    return ANSWERED;
}
