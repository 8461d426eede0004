#include "api/routes.h"

#include "api/http/fields.h"
#include "api/http/target.h"
#include "api/operations/operations.h"

#include <stdio.h>

enum {
    TTL = FIELD_BIT(FIELD_TTL),
    TOKEN = FIELD_BIT(FIELD_LOCK_TOKEN),
    WAIT = FIELD_BIT(FIELD_WAIT),
    NAMES = FIELD_BIT(FIELD_NAMES),
    CONFIRM = FIELD_BIT(FIELD_CONFIRM),
    ACQUIRE = TTL | TOKEN | WAIT | FIELD_BIT(FIELD_OWNER) | FIELD_BIT(FIELD_REENTRANT) |
              FIELD_BIT(FIELD_LOCK_MODE) | FIELD_BIT(FIELD_LIMIT) | FIELD_BIT(FIELD_PERMITS) |
              FIELD_BIT(FIELD_META) | CONFIRM | FIELD_BIT(FIELD_AT_LEAST) |
              FIELD_BIT(FIELD_MAX_HELD),
    RENEW = TTL | TOKEN | CONFIRM,
    ACQUIRE_ONE = ACQUIRE | FIELD_BIT(FIELD_KEEP) | FIELD_BIT(FIELD_HOLD),
    LIST = FIELD_BIT(FIELD_PREFIX) | FIELD_BIT(FIELD_PAGE) | FIELD_BIT(FIELD_CURSOR),
    LIST_HELD = LIST | FIELD_BIT(FIELD_OWNER) | FIELD_BIT(FIELD_HELD_FOR),
    INSPECT = TOKEN | FIELD_BIT(FIELD_WAITERS),
    WATCH = FIELD_BIT(FIELD_AFTER) | WAIT,
    WATCH_ONE = WATCH | TOKEN | FIELD_BIT(FIELD_UNTIL),
    WATCH_ALL = WATCH | FIELD_BIT(FIELD_PREFIX) | FIELD_BIT(FIELD_PAGE),
    RELEASE = TOKEN | FIELD_BIT(FIELD_FORCE) | FIELD_BIT(FIELD_REASON),
    RELEASE_ONE = RELEASE | FIELD_BIT(FIELD_FENCE),
    RELEASE_SEVERAL = RELEASE | NAMES | LIST,
};

const struct route ROUTES[] = {
    {"POST", "/locks/{name}", "acquireLock", ACQUIRE_ONE, VERB_ACQUIRE, acquire_lock},
    {"PUT", "/locks/{name}", "renewLock", RENEW, VERB_ACQUIRE, renew_lock},
    {"DELETE", "/locks/{name}", "releaseLock", RELEASE_ONE, VERB_ACQUIRE, release_lock},
    {"GET", "/locks/{name}", "inspectLock", INSPECT, VERB_READ, inspect_lock},
    {"GET", "/locks/{name}/events", "watchLock", WATCH_ONE, VERB_READ, watch_lock},
    {"GET", "/locks", "listLocks", LIST_HELD, VERB_READ, list_locks},
    {"POST", "/locks", "acquireLocks", ACQUIRE | NAMES, VERB_ACQUIRE, acquire_locks},
    {"PUT", "/locks", "renewLocks", RENEW | NAMES, VERB_ACQUIRE, renew_locks},
    {"DELETE", "/locks", "releaseLocks", RELEASE_SEVERAL, VERB_ACQUIRE, release_locks},
    {"GET", "/events", "watchLocks", WATCH_ALL, VERB_READ, watch_locks},
    {"GET", "/livez", "getLiveness", 0, VERB_NONE, get_liveness},
    {"GET", "/readyz", "getReadiness", FIELD_BIT(FIELD_VERBOSE), VERB_NONE, get_readiness},
    {"GET", "/metrics", "getMetrics", 0, VERB_METRICS, get_metrics},
    {"GET", "/stats", "getStats", FIELD_BIT(FIELD_PAGE), VERB_READ, get_stats},
    {"GET", "/quarantine", "getQuarantine", 0, VERB_READ, get_quarantine},
    {"DELETE", "/quarantine", "endQuarantine", FIELD_BIT(FIELD_REASON), VERB_BREAK, end_quarantine},
    {"GET", "/whoami", "getCaller", 0, VERB_ANY, get_caller},
    {"GET", "/openapi.yaml", "getOpenapi", 0, VERB_NONE, get_openapi},
    {"GET", "/ui", "getUi", 0, VERB_NONE, get_ui},
    {"GET", "/", "getStart", 0, VERB_NONE, get_start},
};

const size_t ROUTE_COUNT = sizeof ROUTES / sizeof ROUTES[0];

static const struct last_segment LAST_SEGMENTS[] = {
    {"/events", "GET"}, {"/acquire", "POST"},   {"/lock", "POST"},
    {"/renew", "PUT"},  {"/release", "DELETE"}, {"/unlock", "DELETE"},
};

enum { SEGMENT_LONGEST = 3 * sizeof "/acquire" }; /* percent-encoded */

const struct last_segment *route_last_segment(struct slice path, size_t *ret_length)
{
    static const char LOCKS[] = "/locks/";
    const size_t before = sizeof LOCKS - 1;
    const char *slash = memrchr(path.bytes, '/', path.length);
    const struct slice raw = {slash, slash ? path.length - (size_t)(slash - path.bytes) : 0};
    char decoded[SEGMENT_LONGEST];
    struct slice text = {decoded, 0};
    if (path.length < before + raw.length || memcmp(path.bytes, LOCKS, before) != 0 ||
        raw.length > sizeof decoded || percent_decode(raw, decoded, &text.length) < 0)
        return NULL;
    *ret_length = raw.length;
    for (size_t i = 0; i < sizeof LAST_SEGMENTS / sizeof LAST_SEGMENTS[0]; i++)
        if (slice_equals(text, LAST_SEGMENTS[i].text))
            return &LAST_SEGMENTS[i];
    return NULL;
}

/* Whether the path fits the pattern; sets the text for {name}, which may have slashes. */
static bool path_fits(const char *pattern, struct slice path, struct slice *ret_name)
{
    const char *brace = strchr(pattern, '{');
    if (!brace)
        return slice_equals(path, pattern);
    size_t literal = (size_t)(brace - pattern), last_length;
    const char *tail = strchr(brace, '}') + 1;
    if (path.length < literal || memcmp(path.bytes, pattern, literal) != 0)
        return false;
    struct slice name = {path.bytes + literal, path.length - literal};
    bool has_slash = memchr(name.bytes, '/', name.length);
    const struct last_segment *last = has_slash ? route_last_segment(path, &last_length) : NULL;
    if (tail[0] ? !last || strcmp(last->text, tail) != 0 : last != NULL)
        return false;
    if (last)
        name.length -= last_length;
    *ret_name = name;
    return true;
}

static void allow(const char *method, char allowed[ROUTE_ALLOWED_LENGTH])
{
    size_t length = strlen(allowed);
    snprintf(allowed + length, ROUTE_ALLOWED_LENGTH - length, "%s%s", length ? ", " : "", method);
}

const struct route *route_find(const char *method, struct slice path, struct slice *ret_name,
                               char ret_allowed[ROUTE_ALLOWED_LENGTH])
{
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    *ret_name = slice_of(NULL);
    ret_allowed[0] = '\0';
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        if (!path_fits(route->path, path, ret_name))
            continue;
        if (strcmp(route->method, method) == 0)
            return route;
        allow(route->method, ret_allowed);
        if (strcmp(route->method, "GET") == 0)
            allow("HEAD", ret_allowed);
    }
    return NULL;
}

bool route_is_probe(const struct route *route)
{
    return route && (route->handle == get_liveness || route->handle == get_readiness ||
                     route->handle == get_metrics);
}

bool route_watches(const struct route *route)
{
    return route && (route->fields & FIELD_BIT(FIELD_AFTER));
}
