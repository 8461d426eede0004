#include "api/routes.h"
#include "tests/support/cmocka.h"

#include <string.h>

static const struct request {
    const char *method;
    const char *path;
    const char *operation;
    const char *name; /* NULL: absent */
} REQUESTS[] = {
    {"POST", "/locks/a", "acquireLock", "a"},
    {"PUT", "/locks/a", "renewLock", "a"},
    {"DELETE", "/locks/a", "releaseLock", "a"},
    {"GET", "/locks/a", "inspectLock", "a"},
    {"HEAD", "/locks/a", "inspectLock", "a"},
    {"GET", "/locks/a%2Fb%00", "inspectLock", "a%2Fb%00"},
    {"GET", "/locks/{name}", "inspectLock", "{name}"},
    {"GET", "/locks/", "inspectLock", ""},
    {"POST", "/locks/shop/orders/17", "acquireLock", "shop/orders/17"},
    {"DELETE", "/locks/a/", "releaseLock", "a/"},
    {"GET", "/locks//", "inspectLock", "/"},
    {"GET", "/locks/a/b%2Fc/events", "watchLock", "a/b%2Fc"},
    {"GET", "/locks/a/events/events", "watchLock", "a/events"},
    {"GET", "/locks/a/events/", "inspectLock", "a/events/"},
    {"GET", "/locks/a/event", "inspectLock", "a/event"},
    {"GET", "/locks/a/previous-events", "inspectLock", "a/previous-events"},
    {"POST", "/locks/a%2Fevents", "acquireLock", "a%2Fevents"},
    {"GET", "/locks///events", "watchLock", "/"},
    {"GET", "/locks/a/%65vents", "watchLock", "a"},
    {"GET", "/locks/a%2Fb/%65%76%65%6e%74%73", "watchLock", "a%2Fb"},
    {"GET", "/locks/a%2F%65vents", "inspectLock", "a%2F%65vents"},
    {"GET", "/locks/a/%65vent%", "inspectLock", "a/%65vent%"},
    {"GET", "/locks/a/%65vents%00", "inspectLock", "a/%65vents%00"},
    {"POST", "/locks/%72enew", "acquireLock", "%72enew"},
    {"POST", "/locks/renew", "acquireLock", "renew"},
    {"POST", "/locks/lock", "acquireLock", "lock"},
    {"POST", "/locks/a%2Frenew", "acquireLock", "a%2Frenew"},
    {"POST", "/locks/a/renew/b", "acquireLock", "a/renew/b"},
    {"POST", "/locks/a/prelock", "acquireLock", "a/prelock"},
    {"GET", "/locks/a/events", "watchLock", "a"},
    {"HEAD", "/locks/a%2Fb/events", "watchLock", "a%2Fb"},
    {"GET", "/locks/events/events", "watchLock", "events"},
    {"GET", "/locks//events", "watchLock", ""},
    {"GET", "/locks/events", "inspectLock", "events"},
    {"GET", "/locks", "listLocks", NULL},
    {"POST", "/locks", "acquireLocks", NULL},
    {"PUT", "/locks", "renewLocks", NULL},
    {"DELETE", "/locks", "releaseLocks", NULL},
    {"GET", "/events", "watchLocks", NULL},
    {"HEAD", "/events", "watchLocks", NULL},
    {"HEAD", "/locks", "listLocks", NULL},
    {"GET", "/livez", "getLiveness", NULL},
    {"HEAD", "/livez", "getLiveness", NULL},
    {"GET", "/readyz", "getReadiness", NULL},
    {"HEAD", "/readyz", "getReadiness", NULL},
    {"GET", "/metrics", "getMetrics", NULL},
    {"HEAD", "/metrics", "getMetrics", NULL},
    {"GET", "/stats", "getStats", NULL},
    {"GET", "/whoami", "getCaller", NULL},
    {"GET", "/quarantine", "getQuarantine", NULL},
    {"HEAD", "/quarantine", "getQuarantine", NULL},
    {"DELETE", "/quarantine", "endQuarantine", NULL},
    {"GET", "/openapi.yaml", "getOpenapi", NULL},
    {"HEAD", "/openapi.yaml", "getOpenapi", NULL},
    {"GET", "/ui", "getUi", NULL},
    {"HEAD", "/ui", "getUi", NULL},
    {"GET", "/", "getStart", NULL},
    {"HEAD", "/", "getStart", NULL},
};

TEST(every_request_finds_its_operation)
{
    for (size_t i = 0; i < LENGTH(REQUESTS); i++) {
        const struct request *request = &REQUESTS[i];
        char allowed[ROUTE_ALLOWED_LENGTH];
        struct slice name;
        const struct route *route =
            route_find(request->method, slice_of(request->path), &name, allowed);
        if (!route)
            fail_msg("%s %s", request->method, request->path);
        assert_string_equal(route->operation_id, request->operation);
        assert_non_null(route->handle);
        if (request->name)
            assert_true(name.bytes && slice_equals(name, request->name));
        else
            assert_null(name.bytes);
    }
}

TEST(every_route_is_asked_for_above)
{
    for (size_t route = 0; route < ROUTE_COUNT; route++) {
        size_t found = 0;
        for (size_t i = 0; i < LENGTH(REQUESTS); i++)
            found += strcmp(REQUESTS[i].operation, ROUTES[route].operation_id) == 0;
        if (found == 0)
            fail_msg("%s", ROUTES[route].operation_id);
    }
}

static const struct refusal {
    const char *method;
    const char *path;
    const char *allowed; /* "" where there is no such path */
} REFUSALS[] = {
    {"PATCH", "/locks/a", "POST, PUT, DELETE, GET, HEAD"},
    {"OPTIONS", "/locks/", "POST, PUT, DELETE, GET, HEAD"},
    {"get", "/locks/a", "POST, PUT, DELETE, GET, HEAD"},
    {"head", "/locks/a", "POST, PUT, DELETE, GET, HEAD"},
    {"", "/locks/a", "POST, PUT, DELETE, GET, HEAD"},
    {"POSTS", "/locks/a", "POST, PUT, DELETE, GET, HEAD"},
    {"PATCH", "/locks", "GET, HEAD, POST, PUT, DELETE"},
    {"POST", "/livez", "GET, HEAD"},
    {"PUT", "/readyz", "GET, HEAD"},
    {"POST", "/metrics", "GET, HEAD"},
    {"DELETE", "/openapi.yaml", "GET, HEAD"},
    {"GET", "", ""},
    {"GET", "/lock", ""},
    {"GET", "/lockss", ""},
    {"GET", "/Locks/a", ""},
    {"GET", "//locks/a", ""},
    {"POST", "/locks/a/events", "GET, HEAD"},
    {"POST", "/locks/a/%65vents", "GET, HEAD"},
    {"PUT", "/locks/a/%72enew", ""},
    {"DELETE", "/locks/a/b/events", "GET, HEAD"},
    {"PUT", "/locks/a/renew", ""},
    {"POST", "/locks/a/b/acquire", ""},
    {"POST", "/locks/a/lock", ""},
    {"DELETE", "/locks/a/release", ""},
    {"GET", "/locks/a/unlock", ""},
    {"DELETE", "/events", "GET, HEAD"},
    {"GET", "/events/", ""},
    {"GET", "/livez/", ""},
    {"GET", "/live", ""},
    {"GET", "/livezz", ""},
    {"GET", "/metrics.", ""},
    {"GET", "/openapi.yml", ""},
    {"GET", "/openapi.yaml.", ""},
};

TEST(unknown_route_is_refused_with_the_known_methods)
{
    for (size_t i = 0; i < LENGTH(REFUSALS); i++) {
        const struct refusal *refusal = &REFUSALS[i];
        char allowed[ROUTE_ALLOWED_LENGTH] = "?";
        struct slice name;
        if (route_find(refusal->method, slice_of(refusal->path), &name, allowed))
            fail_msg("%s %s has a route", refusal->method, refusal->path);
        assert_string_equal(allowed, refusal->allowed);
    }
}

TEST(only_the_slice_is_looked_at)
{
    char allowed[ROUTE_ALLOWED_LENGTH];
    struct slice name;
    const struct route *route = route_find("GET", (struct slice){"/locks/abc", 8}, &name, allowed);
    assert_non_null(route);
    assert_true(slice_equals(name, "a"));
    assert_null(route_find("GET", (struct slice){"/locks", 5}, &name, allowed));
    assert_null(route_find("GET", (struct slice){"/livez\0", 7}, &name, allowed));
}
