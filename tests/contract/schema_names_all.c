#include "tests/contract/schema_check.h"

static const json_t *member_schema(struct check *check, const json_t *schema, const json_t *object,
                                   const char *name);

/* As member_schema, among branches; only those that take the object where they are alternatives. */
static const json_t *member_schema_in(struct check *check, const json_t *branches, bool all,
                                      const json_t *object, const char *name)
{
    size_t i;
    json_t *branch;
    json_array_foreach (branches, i, branch) {
        const json_t *found = all || schema_check_accepts(check, branch, object)
                                  ? member_schema(check, branch, object, name)
                                  : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* The schema of the object's member; NULL where the object's schema does not speak of it. */
static const json_t *member_schema(struct check *check, const json_t *schema, const json_t *object,
                                   const char *name)
{
    const json_t *found = json_object_get(json_object_get(schema, "properties"), name);
    if (!found && json_object_get(schema, "$ref"))
        found = member_schema(check, schema_resolve(check->root, schema), object, name);
    if (!found)
        found = member_schema_in(check, json_object_get(schema, "allOf"), true, object, name);
    if (!found)
        found = member_schema_in(check, json_object_get(schema, "anyOf"), false, object, name);
    if (!found)
        found = member_schema_in(check, json_object_get(schema, "oneOf"), false, object, name);
    return found ? found : json_object_get(schema, "additionalProperties");
}

/* The schema of an array's items, looked for in the same places. */
static const json_t *item_schema(struct check *check, const json_t *schema)
{
    const json_t *target = schema_resolve(check->root, schema);
    return json_object_get(target, "items");
}

static bool names_all(struct check *check, const json_t *schema, const json_t *value)
{
    const char *name;
    size_t i;
    json_t *inner;
    if (json_is_boolean(schema))
        return true;
    json_object_foreach ((json_t *)value, name, inner) {
        const json_t *named = member_schema(check, schema, value, name);
        if (!named)
            return schema_check_refuse(check, "a member that is not in the schema:", value);
        if (!schema_check_below(check, name, names_all, named, inner))
            return false;
    }
    json_array_foreach (value, i, inner)
        if (!schema_check_below_index(check, i, names_all, item_schema(check, schema), inner))
            return false;
    return true;
}

bool schema_names_all(const json_t *root, const json_t *schema, const json_t *value,
                      struct failure *failure)
{
    struct failure why = {.text = ""};
    struct check check = {.root = root, .failure = &why};
    bool named = names_all(&check, schema, value);
    if (!named)
        *failure = why;
    return named;
}
