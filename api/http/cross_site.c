#include "api/http/cross_site.h"

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/principals/principals.h"
#include "base/host_name.h"

#include <strings.h>

enum { SHOWN_LENGTH = 100 }; /* bytes of what the request says */

static bool cross_site_refuse(struct exchange *exchange, const char *field, const char *value,
                              const char *what_to_do)
{
    problem_simply(exchange, PROBLEM_UNTRUSTED_ORIGIN, "The header %s is %.*s: %s", field,
                   SHOWN_LENGTH, value, what_to_do);
    return false;
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Whether an origin is this host's, over HTTP or over HTTPS, which a proxy may terminate. */
static bool cross_site_is_own(const char *origin, const char *host)
{
    const char *authority = strstr(origin, "://");
    return authority && host &&
           host_authorities_equal(slice_of(authority + strlen("://")), slice_of(host));
}

static bool check_page(struct exchange *exchange)
{
    const char *site = exchange->head.fetch_site, *origin = exchange->head.origin;
    if (site)
        return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ||
               cross_site_refuse(
                   exchange, "Sec-Fetch-Site", site,
                   "pages of other sites may change nothing here. Send the request from a server.");
    return !origin || cross_site_is_own(origin, exchange->head.host) ||
           cross_site_refuse(exchange, "Origin", origin,
                             "pages of other sites may change nothing here. If the page is this "
                             "batond's own, let "
                             "the proxy in front of it pass on Host unchanged.");
}

static bool ends_in(struct slice text, const char *end)
{
    size_t length = strlen(end);
    return text.length > length && strncasecmp(text.bytes + text.length - length, end, length) == 0;
}

/* An address ends in a number; no name in the DNS does. */
static bool is_address(struct slice host)
{
    size_t digits = 0;
    while (digits < host.length && host.bytes[host.length - 1 - digits] >= '0' &&
           host.bytes[host.length - 1 - digits] <= '9')
        digits++;
    return host.bytes[0] == '[' ||
           (digits > 0 && digits < host.length && host.bytes[host.length - 1 - digits] == '.');
}

/* Names that public DNS cannot resolve: of a machine, of containers beside each other, of
 * Kubernetes. A name without a dot is one of them, since resolvers append domains to it. */
static bool is_beyond_others(struct slice written)
{
    static const char *const ENDS[] = {".localhost", ".internal", ".svc", ".cluster.local"};
    struct slice host = host_name_compared(written);
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
        if (ends_in(host, ENDS[i]))
            return true;
    return host.length == 0 || is_address(host) || !memchr(host.bytes, '.', host.length);
}

/* Removes the first name from a list, with the space before it. */
static struct slice next_name(const char **list)
{
    *list += strspn(*list, " ");
    struct slice name = {*list, strcspn(*list, ",")};
    *list += name.length + ((*list)[name.length] == ',');
    return name;
}

static bool fits(struct slice written, struct slice listed)
{
    struct slice host = host_name_compared(written), allowed = host_name_compared(listed);
    bool is_end = allowed.bytes[0] == '.' && host.length > allowed.length;
    struct slice compared = host;
    if (is_end)
        compared = (struct slice){host.bytes + host.length - allowed.length, allowed.length};
    return slice_equals(allowed, "*") || host_names_equal(compared, allowed);
}

static bool is_allowed(struct slice host, const char *list)
{
    while (list && *list)
        if (fits(host, next_name(&list)))
            return true;
    return false;
}

static bool is_host_name(struct slice name)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    return slice_equals(name, "*") ||
           (name.length > (name.bytes[0] == '.') && strspn(name.bytes, LETTERS) == name.length);
}

bool cross_site_hosts_are_valid(const char *list)
{
    size_t length = strlen(list);
    if (length > 0 && list[length - 1] == ',')
        return false;
    while (*list)
        if (!is_host_name(next_name(&list)))
            return false;
    return true;
}

static bool check_host(struct exchange *exchange)
{
    const struct api *api = exchange->api;
    const char *text = exchange->head.host;
    if (!text || api->asks_certificates || !principals_everybody(api->principals))
        return true;
    struct slice host = {text, *text == '[' ? strcspn(text, "]") : strcspn(text, ":")};
    return is_beyond_others(host) || is_allowed(host, api->allowed_hosts) ||
           cross_site_refuse(
               exchange, "Host", text,
               "another site could let its name point here, and every client may do everything. "
               "Use "
               "localhost or the IP address, or start batond with this name in allowed-hosts, or "
               "with a tokens-file.");
}

bool cross_site_check(struct exchange *exchange)
{
    return exchange->route->needs == VERB_NONE ||
           (check_host(exchange) && (is_safe(exchange->head.method) || check_page(exchange)));
}
