/* openapi.yaml by itself: schemas that can be judged by, and examples that fit them. */
#include "tests/contract/schema.h"
#include "tests/contract/spec.h"
#include "tests/support/cmocka.h"

static void check_schema(const struct spec *spec, const char *where, const json_t *carrier)
{
    struct failure failure = {""};
    if (!schema_is_supported(spec->root, json_object_get(carrier, "schema"), &failure))
        fail_msg("%s: %s", where, failure.text);
}

TEST(schemas_can_be_judged_by)
{
    const struct spec *spec = *state;
    const char *name;
    json_t *schema;
    spec_each_schema_carrier(spec, check_schema);
    json_object_foreach (json_object_get(json_object_get(spec->root, "components"), "schemas"),
                         name, schema) {
        struct failure failure = {""};
        if (!schema_is_supported(spec->root, schema, &failure))
            fail_msg("%s: %s", name, failure.text);
    }
}

static void check_examples(const struct spec *spec, const char *where, const json_t *carrier)
{
    const json_t *schema = json_object_get(carrier, "schema");
    json_t *examples = spec_examples(carrier);
    const char *name;
    json_t *example;
    if (!json_object_size(examples))
        fail_msg("%s has no example", where);
    json_object_foreach (examples, name, example) {
        struct failure failure = {""};
        if (!schema_accepts(spec->root, schema, example, &failure) ||
            !schema_names_all(spec->root, schema, example, &failure))
            fail_msg("%s, %s: %s", where, name, failure.text);
    }
    json_decref(examples);
}

TEST(examples_fit_their_schemas)
{
    spec_each_schema_carrier(*state, check_examples);
}

static size_t check_defaults(const struct spec *spec, const json_t *node)
{
    const json_t *value = json_object_get(node, "default");
    struct failure failure = {""};
    size_t i, count = 0;
    const char *name;
    json_t *inner;
    if (value && !schema_accepts(spec->root, node, value, &failure))
        fail_msg("a default: %s", failure.text);
    json_object_foreach ((json_t *)node, name, inner)
        count += check_defaults(spec, inner);
    json_array_foreach (node, i, inner)
        count += check_defaults(spec, inner);
    return count + (value != NULL);
}

TEST(defaults_fit_their_schemas)
{
    const struct spec *spec = *state;
    assert_true(check_defaults(spec, spec->root) > 0);
}

RUN_TESTS(spec_start, spec_stop)
