/* openapi.yaml against the tables that batond is made of: routes, problems, fields. */
#include "api/http/fields.h"
#include "api/http/problem.h"
#include "api/routes.h"
#include "tests/contract/schema.h"
#include "tests/contract/spec.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem_row {
    const char *code;
    int status;
    const char *title;
};

#define PROBLEM_ROW(name, code, status, title) {code, status, title},
static const struct problem_row PROBLEM_ROWS[] = {PROBLEMS(PROBLEM_ROW)};

TEST(operations_are_the_routes)
{
    const struct spec *spec = *state;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        const struct spec_operation *operation = spec_operation(spec, route->operation_id);
        if (!operation)
            fail_msg("openapi.yaml has no operation %s", route->operation_id);
        assert_string_equal(operation->method, route->method);
        assert_string_equal(operation->path, route->path);
    }
    /* Ids are unique, so as many operations as routes are the same. */
    assert_int_equal(spec->operation_count, ROUTE_COUNT);
}

/* Both may be absent. */
static bool is_same(const json_t *one, const json_t *other)
{
    return one == other || json_equal(one, other);
}

/* The reply of HEAD has all header fields that GET has with this status, and no body. */
static bool is_reply_of_head(const json_t *root, const json_t *get, const json_t *head)
{
    const json_t *headers = json_object_get(schema_resolve(root, head), "headers");
    const char *name;
    json_t *header;
    json_object_foreach (json_object_get(schema_resolve(root, get), "headers"), name, header)
        if (!json_equal(json_object_get(headers, name), header))
            return false;
    return headers && !json_object_get(schema_resolve(root, head), "content");
}

static void check_head(const json_t *root, const char *path, const json_t *get, const json_t *head)
{
    static const char *const SAME[] = {"parameters", "security", "tags"};
    const char *status, *id = json_string_value(json_object_get(get, "operationId"));
    const json_t *replies = json_object_get(head, "responses");
    char expected[80];
    json_t *reply;
    snprintf(expected, sizeof expected, "%sHead", id);
    assert_string_equal(json_string_value(json_object_get(head, "operationId")), expected);
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (!is_same(json_object_get(get, SAME[i]), json_object_get(head, SAME[i])))
            fail_msg("%s: HEAD has other %s", path, SAME[i]);
    json_object_foreach (json_object_get(get, "responses"), status, reply)
        if (!is_reply_of_head(root, reply, json_object_get(replies, status)))
            fail_msg("%s: HEAD, %s", path, status);
}

TEST(head_is_described_where_get_is)
{
    const struct spec *spec = *state;
    const char *path;
    json_t *item;
    json_object_foreach (json_object_get(spec->root, "paths"), path, item) {
        const json_t *get = json_object_get(item, "get"), *head = json_object_get(item, "head");
        if (!get != !head)
            fail_msg("%s: one of GET and HEAD is missing", path);
        if (get)
            check_head(spec->root, path, get, head);
    }
}

static const struct problem_row *find_problem(const char *code)
{
    for (size_t i = 0; i < PROBLEM_COUNT; i++)
        if (code && !strcmp(PROBLEM_ROWS[i].code, code))
            return &PROBLEM_ROWS[i];
    return NULL;
}

static json_t *problem_content(const json_t *response)
{
    return json_object_get(json_object_get(response, "content"), "application/problem+json");
}

/* Checks the codes of one response and adds them to `seen`. */
static void check_codes(const struct spec *spec, const char *where, const char *status,
                        const json_t *response, json_t *seen)
{
    json_t *codes = spec_codes(spec, json_object_get(problem_content(response), "schema"));
    const char *code;
    json_t *code_status;
    if (problem_content(response) && !json_object_size(codes))
        fail_msg("%s, %s: no codes", where, status);
    json_object_foreach (codes, code, code_status) {
        const struct problem_row *row = find_problem(code);
        if (!row || row->status != json_integer_value(code_status) || row->status != atoi(status))
            fail_msg("%s, %s: %s is not in the table like that", where, status, code);
    }
    json_object_update(seen, codes);
    json_decref(codes);
}

TEST(problems_are_those_of_the_table)
{
    const struct spec *spec = *state;
    json_t *seen = json_object();
    for (size_t i = 0; i < spec->operation_count; i++) {
        const struct spec_operation *operation = &spec->operations[i];
        const char *status;
        json_t *unresolved;
        json_object_foreach (json_object_get(operation->node, "responses"), status, unresolved)
            check_codes(spec, operation->id, status, spec_response(spec, operation, atol(status)),
                        seen);
    }
    for (size_t i = 0; i < PROBLEM_COUNT; i++)
        if (!json_object_get(seen, PROBLEM_ROWS[i].code))
            fail_msg("openapi.yaml never mentions %s", PROBLEM_ROWS[i].code);
    json_decref(seen);
}

static void check_problem_examples(const struct spec *spec, const char *where,
                                   const json_t *carrier)
{
    json_t *examples = spec_examples(carrier);
    const char *name;
    json_t *example;
    (void)spec;
    json_object_foreach (examples, name, example) {
        const struct problem_row *row =
            find_problem(json_string_value(json_object_get(example, "code")));
        const char *title = json_string_value(json_object_get(example, "title"));
        if (row && (!title || strcmp(title, row->title) != 0))
            fail_msg("%s, %s: the title of %s is \"%s\"", where, name, row->code, row->title);
    }
    json_decref(examples);
}

TEST(examples_of_problems_have_their_titles)
{
    spec_each_schema_carrier(*state, check_problem_examples);
}

/* What the document has to say of a field, other than of its range. */
struct kind {
    const char *type;     /* in a body */
    const char *in_query; /* in the query; NULL: it is never there */
    const char *lowest;   /* the keyword for the range, NULL where it says nothing of it */
    const char *highest;
};

static const struct kind KINDS[] = {
    [FIELD_DURATION] = {"string", "string", NULL, NULL},
    [FIELD_INTEGER] = {"integer", "integer", "minimum", "maximum"},
    [FIELD_MODE] = {"string", "string", NULL, NULL},
    [FIELD_TEXT] = {"string", "string", "minLength", "maxLength"},
    [FIELD_TOKEN] = {"string", NULL, "minLength", "maxLength"},
    [FIELD_OBJECT] = {"object", "string", NULL, NULL},
    [FIELD_FLAG] = {"boolean", "boolean", NULL, NULL},
    [FIELD_CHOICE] = {"string", "string", NULL, NULL},
    [FIELD_REPLICAS] = {"string", "string", NULL, NULL},
    [FIELD_LIST] = {"array", NULL, "minItems", "maxItems"},
};

static void check_bound(const char *where, const json_t *schema, const char *keyword,
                        int64_t expected)
{
    const json_t *bound = json_object_get(schema, keyword);
    bool lowest_of_all = expected == 0 && !strcmp(keyword, "minLength");
    if (!bound && lowest_of_all)
        return;
    if (!json_is_integer(bound) || json_integer_value(bound) != expected)
        fail_msg("%s: %s is not %lld", where, keyword, (long long)expected);
}

/* The schema has to be that of the field, in the query or else in a body. */
static void check_field(const struct spec *spec, const char *where, const json_t *schema,
                        const struct field *field, bool in_ms, bool in_query)
{
    const struct kind *kind = &KINDS[in_ms ? FIELD_INTEGER : field->kind];
    schema = schema_resolve(spec->root, schema);
    const char *expected = in_query ? kind->in_query : kind->type;
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (!type || !expected || strcmp(type, expected) != 0)
        fail_msg("%s: the type is not %s", where, expected);
    const char *choice = json_string_value(json_object_get(schema, "const"));
    if (field->kind == FIELD_CHOICE && (!choice || strcmp(choice, field->expected) != 0))
        fail_msg("%s: it is not %s", where, field->expected);
    if (!kind->lowest)
        return;
    check_bound(where, schema, kind->lowest, field->lowest);
    check_bound(where, schema, kind->highest, field->highest);
}

static const json_t *find_parameter(const json_t *parameters, const char *in, const char *name)
{
    size_t i;
    json_t *parameter;
    json_array_foreach (parameters, i, parameter)
        if (!strcmp(json_string_value(json_object_get(parameter, "in")), in) &&
            !strcmp(json_string_value(json_object_get(parameter, "name")), name))
            return parameter;
    return NULL;
}

static size_t count_in_query(const json_t *parameters)
{
    size_t i, count = 0;
    json_t *parameter;
    json_array_foreach (parameters, i, parameter)
        count += !strcmp(json_string_value(json_object_get(parameter, "in")), "query");
    return count;
}

/* The properties of the operation's body; NULL where it has none. */
static const json_t *body_properties(const struct spec *spec,
                                     const struct spec_operation *operation)
{
    const json_t *content =
        json_object_get(json_object_get(operation->node, "requestBody"), "content");
    const json_t *carrier = json_object_get(content, "application/json");
    const json_t *schema = schema_resolve(spec->root, json_object_get(carrier, "schema"));
    return json_object_get(schema, "properties");
}

/* The schema of a property beside null, if null will do as well. */
static const json_t *without_null(const json_t *schema)
{
    const json_t *either = json_object_get(schema, "oneOf");
    return either ? json_array_get(either, 0) : schema;
}

/* `place` has the operation's parameters, or the properties of its body. */
static void check_name(const struct spec *spec, const char *operation, const json_t *place,
                       const struct field *field, const char *name)
{
    char where[128];
    bool in_query = json_is_array(place);
    snprintf(where, sizeof where, "%s, %s%s", operation, in_query ? "?" : "", name);
    const json_t *parameter = in_query ? find_parameter(place, "query", name) : NULL;
    const json_t *schema = in_query ? json_object_get(parameter, "schema")
                                    : without_null(json_object_get(place, name));
    if (!schema)
        fail_msg("%s: not in openapi.yaml", where);
    check_field(spec, where, schema, field, name == field->in_ms, in_query);
}

static void check_fields(const struct spec *spec, const struct route *route, const json_t *place)
{
    bool in_query = json_is_array(place);
    size_t count = 0;
    for (size_t id = 0; id < FIELD_COUNT; id++) {
        const struct field *field = &FIELDS[id];
        if (!(route->fields & FIELD_BIT(id)) || (in_query && !field_is_in_query(field)))
            continue;
        check_name(spec, route->operation_id, place, field, field->name);
        if (field->in_ms)
            check_name(spec, route->operation_id, place, field, field->in_ms);
        count += field->in_ms ? 2 : 1;
    }
    if (count != (in_query ? count_in_query(place) : json_object_size(place)))
        fail_msg("%s: openapi.yaml has more fields in the %s", route->operation_id,
                 in_query ? "query" : "body");
}

TEST(parameters_are_the_fields)
{
    const struct spec *spec = *state;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const struct route *route = &ROUTES[i];
        const struct spec_operation *operation = spec_operation(spec, route->operation_id);
        json_t *parameters = spec_parameters(spec, operation);
        const json_t *properties = body_properties(spec, operation);
        bool by_token = find_parameter(parameters, "header", "Lock-Token");
        check_fields(spec, route, parameters);
        if (route->fields && strcmp(route->method, "GET") != 0)
            check_fields(spec, route, properties);
        if (by_token != ((route->fields & FIELD_BIT(FIELD_LOCK_TOKEN)) != 0))
            fail_msg("%s: Lock-Token", route->operation_id);
        json_decref(parameters);
    }
}

RUN_TESTS(spec_start, spec_stop)
