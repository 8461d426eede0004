/* openapi.yaml against batond's own tables, and against the replies of a real batond: Python judges
 * both, by jsonschema. */
#include "api/http/fields.h"
#include "api/http/problem.h"
#include "api/routes.h"
#include "tests/support/cmocka.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const KINDS[] = {
    [FIELD_DURATION] = "duration", [FIELD_INTEGER] = "integer", [FIELD_MODE] = "mode",
    [FIELD_TEXT] = "text",         [FIELD_TOKEN] = "token",     [FIELD_OBJECT] = "object",
    [FIELD_FLAG] = "flag",         [FIELD_CHOICE] = "choice",   [FIELD_LIST] = "list",
    [FIELD_REPLICAS] = "replicas",
};

static json_t *fields_of(const struct route *route)
{
    json_t *fields = json_object();
    for (size_t id = 0; id < FIELD_COUNT; id++) {
        const struct field *field = &FIELDS[id];
        if (route->fields & FIELD_BIT(id))
            json_object_set_new(fields, field->name,
                                json_pack("{s:s?, s:s, s:I, s:I, s:s?}", "in_ms", field->in_ms,
                                          "kind", KINDS[field->kind], "lowest",
                                          (json_int_t)field->lowest, "highest",
                                          (json_int_t)field->highest, "expected", field->expected));
    }
    return fields;
}

static json_t *tables(void)
{
    json_t *problems = json_object(), *routes = json_array();
#define PROBLEM_ROW(name, code, status, title)                                                     \
    json_object_set_new(problems, code, json_pack("{s:i, s:s}", "status", status, "title", title));
    PROBLEMS(PROBLEM_ROW)
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        const char *needs = route->needs == VERB_NONE  ? "none"
                            : route->needs == VERB_ANY ? "any"
                                                       : VERB_WORDS[route->needs];
        json_array_append_new(routes,
                              json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", route->operation_id,
                                        "method", route->method, "path", route->path, "needs",
                                        needs, "fields", fields_of(route)));
    }
    return json_pack("{s:o, s:o}", "problems", problems, "routes", routes);
}

/* Runs the tests of this class, with the tables as their input. */
static void run(const char *class)
{
    char command[100];
    snprintf(command, sizeof command, "/usr/bin/python3 tests/contract/run.py %s", class);
    FILE *python = popen(command, "w"); /* NOLINT(cert-env33-c): a fixed program of ours */
    assert_non_null(python);
    json_t *input = tables();
    assert_int_equal(json_dumpf(input, python, 0), 0);
    json_decref(input);
    assert_int_equal(pclose(python), 0);
}

TEST(document_is_sound_and_has_the_tables)
{
    run("document_test.Document");
}

TEST(replies_are_what_the_document_promises)
{
    run("replies_test.Replies");
}

TEST(requests_are_taken_as_the_document_has_them)
{
    run("requests_test.Requests");
}
