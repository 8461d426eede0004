#include "tests/contract/spec.h"

#include "tests/contract/schema.h"
#include "tests/contract/yaml_json.h"
#include "tests/support/cmocka.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    FILE *buffer = open_memstream(&text, ret_length);
    int byte;
    if (!file)
        fail_msg("no %s here; run tests from the repository's root", path);
    while ((byte = getc(file)) != EOF)
        putc(byte, buffer);
    fclose(file);
    fclose(buffer);
    return text;
}

/* The operations of one path: its members that have an operationId, but for HEAD, which is GET. */
static void add_operations(struct spec *spec, const char *path, json_t *item)
{
    const char *member;
    json_t *node;
    json_object_foreach (item, member, node) {
        const char *id = json_string_value(json_object_get(node, "operationId"));
        if (!id || !strcmp(member, "head"))
            continue;
        assert_in_range(spec->operation_count, 0, SPEC_OPERATIONS_MAX - 1);
        struct spec_operation *operation = &spec->operations[spec->operation_count++];
        *operation = (struct spec_operation){
            .id = id, .path = path, .node = node, .shared = json_object_get(item, "parameters")};
        for (size_t i = 0; i < sizeof operation->method - 1 && member[i]; i++)
            operation->method[i] = (char)toupper((unsigned char)member[i]);
    }
}

void spec_load(struct spec *spec)
{
    struct failure failure = {""};
    const char *path;
    json_t *item;
    *spec = (struct spec){.operation_count = 0};
    spec->text = read_file("openapi.yaml", &spec->length);
    spec->root = yaml_json_parse(spec->text, spec->length, &failure);
    if (!spec->root)
        fail_msg("openapi.yaml: %s", failure.text);
    json_object_foreach (json_object_get(spec->root, "paths"), path, item)
        add_operations(spec, path, item);
    assert_true(spec->operation_count > 0);
}

void spec_free(struct spec *spec)
{
    json_decref(spec->root);
    free(spec->text);
    *spec = (struct spec){.operation_count = 0};
}

const struct spec_operation *spec_operation(const struct spec *spec, const char *id)
{
    for (size_t i = 0; i < spec->operation_count; i++)
        if (!strcmp(spec->operations[i].id, id))
            return &spec->operations[i];
    return NULL;
}

const json_t *spec_response(const struct spec *spec, const struct spec_operation *operation,
                            long status)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", status);
    const json_t *responses = json_object_get(operation->node, "responses");
    return schema_resolve(spec->root, json_object_get(responses, text));
}

const json_t *spec_content(const struct spec *spec, const struct spec_operation *operation,
                           long status, const char *type)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", status);
    const json_t *content = json_object_get(spec_response(spec, operation, status), "content");
    const json_t *asked =
        json_object_get(json_object_get(operation->node, "x-content-on-request"), type);
    if (json_object_get(content, type))
        return json_object_get(content, type);
    return json_object_get(asked, status < 400 ? text : "refusal");
}

static void append_resolved(const struct spec *spec, json_t *list, const json_t *items)
{
    size_t i;
    json_t *item;
    json_array_foreach (items, i, item)
        json_array_append(list, (json_t *)schema_resolve(spec->root, item));
}

json_t *spec_parameters(const struct spec *spec, const struct spec_operation *operation)
{
    json_t *list = json_array();
    append_resolved(spec, list, operation->shared);
    append_resolved(spec, list, json_object_get(operation->node, "parameters"));
    return list;
}

/* The code and the status that one branch of a problem's schema asks for. */
static void add_codes(json_t *codes, const json_t *properties)
{
    const json_t *code = json_object_get(properties, "code");
    json_t *status = json_object_get(json_object_get(properties, "status"), "const");
    const json_t *choices = json_object_get(code, "enum");
    const char *only = json_string_value(json_object_get(code, "const"));
    size_t i;
    json_t *choice;
    if (only)
        json_object_set(codes, only, status);
    json_array_foreach (choices, i, choice)
        json_object_set(codes, json_string_value(choice), status);
}

static void collect_codes(const struct spec *spec, const json_t *schema, json_t *codes)
{
    static const char *const applicators[] = {"allOf", "oneOf", "anyOf"};
    size_t i;
    json_t *branch;
    schema = schema_resolve(spec->root, schema);
    add_codes(codes, json_object_get(schema, "properties"));
    for (size_t a = 0; a < sizeof applicators / sizeof applicators[0]; a++)
        json_array_foreach (json_object_get(schema, applicators[a]), i, branch)
            collect_codes(spec, branch, codes);
}

json_t *spec_codes(const struct spec *spec, const json_t *schema)
{
    json_t *codes = json_object();
    collect_codes(spec, schema, codes);
    return codes;
}

/* Members that hold values of the user's, not parts of the document. */
static bool is_data(const char *member)
{
    return !strcmp(member, "example") || !strcmp(member, "examples") || !strcmp(member, "default");
}

static void visit_below(const struct spec *spec, const char *where, const json_t *node,
                        spec_visit *visit)
{
    char path[256];
    const char *member;
    size_t i;
    json_t *inner;
    if (json_object_get(node, "schema"))
        visit(spec, where, node);
    json_object_foreach ((json_t *)node, member, inner) {
        snprintf(path, sizeof path, "%.180s > %.60s", where, member);
        if (!is_data(member))
            visit_below(spec, path, inner, visit);
    }
    json_array_foreach (node, i, inner)
        visit_below(spec, where, inner, visit);
}

void spec_each_schema_carrier(const struct spec *spec, spec_visit *visit)
{
    visit_below(spec, "openapi.yaml", spec->root, visit);
}

json_t *spec_examples(const json_t *carrier)
{
    json_t *examples = json_object();
    const char *name;
    json_t *example;
    json_object_foreach (json_object_get(carrier, "examples"), name, example)
        json_object_set(examples, name, json_object_get(example, "value"));
    if (json_object_get(carrier, "example"))
        json_object_set(examples, "example", json_object_get(carrier, "example"));
    return examples;
}

int spec_start(void **state)
{
    struct spec *spec = malloc(sizeof *spec);
    spec_load(spec);
    *state = spec;
    return 0;
}

int spec_stop(void **state)
{
    spec_free(*state);
    free(*state);
    return 0;
}
