#include "api/cross_site.h"

#include "api/api.h"
#include "api/problem.h"

#include <strings.h>

enum { SHOWN_LENGTH = 100 }; /* of what the request says */

static bool refuse(struct exchange *exchange, const char *field, const char *value,
                   const char *what_to_do)
{
    problem_simply(exchange, PROBLEM_UNTRUSTED_ORIGIN, "%s is %.*s: %s", field, SHOWN_LENGTH, value,
                   what_to_do);
    return false;
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Whether an origin is that of the pages at this host, be it over HTTPS, which a proxy may end. */
static bool is_own(const char *origin, const char *host)
{
    const char *authority = strstr(origin, "://");
    return authority && host && strcasecmp(authority + strlen("://"), host) == 0;
}

static bool check_page(struct exchange *exchange)
{
    const char *site = exchange->fetch_site, *origin = exchange->origin;
    if (site)
        return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ||
               refuse(exchange, "Sec-Fetch-Site", site,
                      "pages of other sites may change nothing here; call from a server of yours");
    return !origin || is_own(origin, exchange->host) ||
           refuse(exchange, "Origin", origin,
                  "pages of other sites may change nothing here; if it is this batond's own, the "
                  "proxy in front has to pass on Host as it was");
}

static bool ends_in(struct slice text, const char *end)
{
    size_t length = strlen(end);
    return text.length > length && strncasecmp(text.bytes + text.length - length, end, length) == 0;
}

/* The last label of an address is a number, and that of no name in the DNS is. */
static bool is_address(struct slice host)
{
    size_t digits = 0;
    while (digits < host.length && host.bytes[host.length - 1 - digits] >= '0' &&
           host.bytes[host.length - 1 - digits] <= '9')
        digits++;
    return host.bytes[0] == '[' ||
           (digits > 0 && digits < host.length && host.bytes[host.length - 1 - digits] == '.');
}

static bool is_beyond_others(struct slice host)
{
    return host.length == 0 || is_address(host) || !memchr(host.bytes, '.', host.length) ||
           ends_in(host, ".localhost") || ends_in(host, ".internal");
}

static bool check_host(struct exchange *exchange)
{
    const struct api *api = exchange->api;
    const char *text = exchange->host;
    if (!text || api->trusts_hosts || api->asks_certificates ||
        !principals_everybody(api->principals))
        return true;
    struct slice host = {text, *text == '[' ? strcspn(text, "]") : strcspn(text, ":")};
    return is_beyond_others(host) ||
           refuse(exchange, "Host", text,
                  "another site could have its name lead here, and whoever can connect may do all; "
                  "use localhost or the address, or start batond with a tokens-file or with "
                  "allow-anonymous");
}

bool cross_site_check(struct exchange *exchange)
{
    return exchange->route->needs == VERB_NONE ||
           (check_host(exchange) && (is_safe(exchange->method) || check_page(exchange)));
}
