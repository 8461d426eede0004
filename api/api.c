#include "api/api.h"

#include "api/access/credentials.h"
#include "api/access/limits.h"
#include "api/access/ownership.h"
#include "api/access/permission.h"
#include "api/http/accept.h"
#include "api/http/cross_site.h"
#include "api/http/problem.h"
#include "api/http/target.h"
#include "api/operations/events.h"
#include "api/operations/hold_connection.h"
#include "api/operations/offered.h"
#include "api/principals/principals.h"
#include "api/routes.h"

#include <ctype.h>

enum { METHOD_SHOWN = 32, PATH_SHOWN = 400 };

static const char NAME_ENDS_SO[] = "If the name of the lock ends so, write the slash as %2F.";

/* The methods of HTTP itself (RFC 9110 and 5789). */
static bool is_method(const char *method)
{
    static const char *const METHODS[] = {"GET",     "HEAD",  "POST",    "PUT",  "DELETE",
                                          "OPTIONS", "PATCH", "CONNECT", "TRACE"};
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++)
        if (strcmp(METHODS[i], method) == 0)
            return true;
    return false;
}

static void refuse_on_admin_address(struct exchange *exchange)
{
    problem_simply(
        exchange, PROBLEM_NOT_FOUND,
        "This address (admin-listen) serves only /livez, /readyz and /metrics. For all else "
        "use the address of the setting listen.");
}

/* Says which call the client has in mind. */
static void refuse_last_segment(struct exchange *exchange, const struct last_segment *last,
                                struct slice path, size_t last_length)
{
    size_t length = path.length - last_length;
    problem_simply(exchange, PROBLEM_NOT_FOUND,
                   "There is no path with %s at its end: send %s %.*s%s. %s", last->text,
                   last->method, (int)(length < PATH_SHOWN ? length : PATH_SHOWN), path.bytes,
                   length > PATH_SHOWN ? "…" : "", NAME_ENDS_SO);
}

static void refuse_route(struct exchange *exchange, struct slice path, const char *allowed)
{
    size_t last_length;
    const struct last_segment *last = route_last_segment(path, &last_length);
    if (!is_method(exchange->head.method)) {
        problem_simply(exchange, PROBLEM_UNSUPPORTED,
                       "\"%.*s\" is not a known method. Use GET, HEAD, POST, PUT or DELETE, in "
                       "capitals.",
                       METHOD_SHOWN, exchange->head.method);
    } else if (allowed[0]) {
        reply_header(exchange, "Allow", "%s", allowed);
        problem_simply(exchange, PROBLEM_METHOD_NOT_ALLOWED, "Use %s here%s%s", allowed,
                       last ? ". " : ".", last ? NAME_ENDS_SO : "");
    } else if (last) {
        refuse_last_segment(exchange, last, path, last_length);
    } else {
        problem_simply(exchange, PROBLEM_NOT_FOUND,
                       "Locks are at /locks/{name}, and /ui shows them. /openapi.yaml describes "
                       "every path.");
    }
}

/* A client that adds a slash, or a proxy that merges two, would else ask for another lock. */
static bool has_empty_segment(struct slice raw)
{
    const char *slash = memchr(raw.bytes, '/', raw.length), *end = raw.bytes + raw.length;
    return slash &&
           (slash == raw.bytes || end[-1] == '/' || memmem(slash, (size_t)(end - slash), "//", 2));
}

static bool api_read_name(struct exchange *exchange, struct slice raw)
{
    exchange->name = (struct slice){exchange->name_bytes, 0};
    if (raw.length > 3 * NAME_LENGTH || raw.length == 0 || has_empty_segment(raw))
        goto refuse;
    char decoded[3 * NAME_LENGTH];
    struct slice name = {decoded, 0};
    if (percent_decode(raw, decoded, &name.length) < 0 || !name_is_valid(name))
        goto refuse;
    memcpy(exchange->name_bytes, name.bytes, name.length);
    exchange->name.length = name.length;
    return true;

refuse:;
    json_t *document = problem_new(exchange, PROBLEM_INVALID_NAME,
                                   "Send 1 to %d bytes of UTF-8 without control characters, "
                                   "percent-encoded. No part between slashes may be \".\" or "
                                   "\"..\". Write a slash with nothing before or behind it as "
                                   "%%2F.",
                                   NAME_LENGTH);
    json_object_set_new(document, "parameter", json_string("name"));
    problem_answer(exchange, PROBLEM_INVALID_NAME, document);
    return false;
}

/* Each operation of /locks answers in text, if that is asked for. So does a refusal there. */
static bool is_below_locks(struct slice path)
{
    static const char LOCKS[] = "/locks";
    const size_t length = sizeof LOCKS - 1;
    return path.length >= length && memcmp(path.bytes, LOCKS, length) == 0 &&
           (path.length == length || path.bytes[length] == '/');
}

/* Finds the exchange's route. Returns false if it has answered because there is none. */
static bool find_route(struct exchange *exchange)
{
    struct slice path, query;
    char allowed[ROUTE_ALLOWED_LENGTH];
    target_split(exchange->head.target, &path, &query);
    exchange->wants_text = is_below_locks(path) && accept_prefers_text(exchange->head.accept);
    exchange->route = route_find(exchange->head.method, path, &exchange->name_sent, allowed);
    if (!exchange->route)
        refuse_route(exchange, path, allowed);
    else if (exchange->head.is_admin && !route_is_probe(exchange->route))
        refuse_on_admin_address(exchange);
    if (exchange->reply.status)
        return false;
    exchange->drops_body = strcmp(exchange->route->method, "GET") == 0;
    exchange->wants_events = (exchange->route->fields & FIELD_BIT(FIELD_AFTER)) &&
                             accept_prefers_events(exchange->head.accept);
    return true;
}

bool api_admit(struct api *api, struct exchange *exchange)
{
    exchange->api = api;
    return find_route(exchange) && cross_site_check(exchange) && credentials_check(exchange) &&
           limits_count(exchange) && limits_receive(exchange);
}

enum handling api_handle(struct exchange *exchange)
{
    limits_received(exchange);
    if (exchange->name_sent.bytes && !api_read_name(exchange, exchange->name_sent))
        return ANSWERED;
    if (!fields_read(exchange, exchange->route->fields) || !permission_check(exchange) ||
        !offered_check(exchange) || !limits_enter(exchange))
        return ANSWERED;
    ownership_set_token(exchange);
    return exchange->route->handle(exchange);
}

void api_refuse_request(struct api *api, struct exchange *exchange, const char *why)
{
    exchange->api = api;
    problem_simply(exchange, PROBLEM_INVALID_REQUEST, "%s", why);
}

void api_refuse_head(struct api *api, struct exchange *exchange, size_t most)
{
    exchange->api = api;
    problem_simply(
        exchange, PROBLEM_HEAD_TOO_LARGE,
        "The request line and the header fields may have %zu bytes, and each field and each "
        "cookie counts for %d more. Send fewer cookies, or parameters as a JSON body.",
        most, EXCHANGE_FIELD_COST);
}

void api_refuse_body(struct exchange *exchange)
{
    problem_simply(exchange, PROBLEM_TOO_LARGE, "A body may have %d bytes. Send a shorter one.",
                   EXCHANGE_BODY_LONGEST);
}

void api_set_principals(struct api *api, struct principals *principals)
{
    principals_drop(api->principals);
    api->principals = principals;
}

void api_drain(struct api *api)
{
    api->draining = true;
    locks_drain(api->locks);
    hold_connection_drain(api);
}

void api_set_store(struct api *api, bool is_available)
{
    events_set_store(api, is_available);
}

bool api_has_granted(const struct exchange *exchange)
{
    return exchange->grant.attempt.text[0] != '\0' || exchange->grant_count > 0;
}
