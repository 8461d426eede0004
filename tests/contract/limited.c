#include "tests/contract/limited.h"

#include "api/http/fields.h"
#include "api/routes.h"

#include <stdio.h>
#include <string.h>

static void fill(struct limited_case *it, const struct route *route, bool waits)
{
    const char *hole = strchr(route->path, '{'), *tail = hole ? strchr(hole, '}') + 1 : "";
    int length = (int)(hole ? (size_t)(hole - route->path) : strlen(route->path));
    const char *body =
        route->fields & FIELD_BIT(FIELD_NAMES) ? "\n\n{\"names\":[\"limited\"]}" : "";
    it->waits = waits;
    snprintf(it->reply, sizeof it->reply, "%s 429 %s", route->operation_id,
             waits ? "too_many_waiters" : "rate_limited");
    snprintf(it->request, sizeof it->request, "%s %.*s%s%s%s%s", route->method, length, route->path,
             hole ? "limited" : "", tail, waits ? "?wait=1s" : "", body);
}

size_t limited_cases(struct limited_case cases[LIMITED_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        if (route->needs == VERB_NONE)
            continue;
        for (int waits = 0; waits < (route->fields & FIELD_BIT(FIELD_WAIT) ? 2 : 1); waits++)
            fill(&cases[count++], route, waits);
    }
    return count;
}
