#include "tests/contract/guarded.h"

#include "api/routes.h"
#include "tests/support/principals_file.h"

#include <stdio.h>

void guarded_write_file(const char *path)
{
    const struct file_principal nobody = {.name = "guest", .rules = "[]"};
    principals_file_write(path, &nobody, 1);
}

static void fill(struct guarded_case *it, const struct route *route, const char *code,
                 const char *headers)
{
    const char *hole = strchr(route->path, '{'), *tail = hole ? strchr(hole, '}') + 1 : "";
    int length = (int)(hole ? (size_t)(hole - route->path) : strlen(route->path));
    bool several = strcmp(route->path, "/locks") == 0 && strcmp(route->method, "GET") != 0;
    snprintf(it->reply, sizeof it->reply, "%s %s", route->operation_id, code);
    snprintf(it->request, sizeof it->request, "%s %.*s%s%s%s%s", route->method, length, route->path,
             hole ? "guarded" : "", tail, headers, several ? "\n\n{\"names\":[\"guarded\"]}" : "");
}

size_t guarded_cases(struct guarded_case cases[GUARDED_MOST])
{
    char header[PRINCIPAL_HEADER_TEXT], known[2 * PRINCIPAL_HEADER_TEXT];
    size_t count = 0;
    principal_header("guest", header);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        if (route->needs == VERB_NONE)
            continue;
        snprintf(known, sizeof known, "\n%s", header);
        fill(&cases[count++], route, "401 unauthorized", "");
        if (route->needs != VERB_ANY)
            fill(&cases[count++], route, "403 forbidden", known);
        if (strcmp(route->method, "GET") != 0)
            fill(&cases[count++], route, "403 untrusted_origin", "\nOrigin: https://example.com");
    }
    return count;
}
