#include "tests/contract/schema_check.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

static bool is_list_of(const json_t *list, bool (*is)(const char *text))
{
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item)
        if (!json_is_string(item) || (is && !is(json_string_value(item))))
            return false;
    return json_array_size(list) > 0;
}

static bool is_type_name(const char *text)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(text, names[i]))
            return true;
    return false;
}

/* No escapes, no "(?", no classes: there POSIX and JavaScript part. */
static bool is_common_pattern(const json_t *pattern)
{
    regex_t regex;
    const char *text = json_string_value(pattern);
    if (!text || strchr(text, '\\') || strstr(text, "(?") || strstr(text, "[:") ||
        regcomp(&regex, text, REG_EXTENDED | REG_NOSUB))
        return false;
    regfree(&regex);
    return true;
}

static bool has_shape(struct check *check, const struct keyword *keyword, const json_t *schema,
                      const json_t *argument)
{
    switch (keyword->shape) {
    case SHAPE_ANY:
        return true;
    case SHAPE_TEXT:
        return json_is_string(argument);
    case SHAPE_NUMBER:
        return json_is_number(argument);
    case SHAPE_COUNT:
        return json_is_integer(argument) && json_integer_value(argument) >= 0;
    case SHAPE_FLAG:
        return json_is_boolean(argument);
    case SHAPE_LIST:
    case SHAPE_SCHEMA_LIST:
        return json_array_size(argument) > 0;
    case SHAPE_NAMES:
        return is_list_of(argument, NULL);
    case SHAPE_TYPES:
        return is_list_of(argument, is_type_name) ||
               (json_is_string(argument) && is_type_name(json_string_value(argument)));
    case SHAPE_PATTERN:
        return is_common_pattern(argument);
    case SHAPE_REFERENCE:
        return schema_resolve(check->root, schema);
    case SHAPE_SCHEMA:
        return json_is_object(argument) || json_is_boolean(argument);
    case SHAPE_SCHEMA_OBJECT:
        return json_is_object(argument);
    }
    return false;
}

static bool is_supported(struct check *check, const json_t *schema, const json_t *value);

/* The schemas inside a keyword's value. */
static bool are_inner_supported(struct check *check, const struct keyword *keyword,
                                const json_t *schema, const json_t *argument)
{
    const char *name;
    size_t i;
    json_t *inner;
    if (keyword->shape == SHAPE_REFERENCE)
        return is_supported(check, schema_resolve(check->root, schema), NULL);
    if (keyword->shape == SHAPE_SCHEMA)
        return is_supported(check, argument, NULL);
    if (keyword->shape == SHAPE_SCHEMA_OBJECT)
        json_object_foreach ((json_t *)argument, name, inner)
            if (!schema_check_below(check, name, is_supported, inner, NULL))
                return false;
    if (keyword->shape == SHAPE_SCHEMA_LIST)
        json_array_foreach (argument, i, inner)
            if (!schema_check_below_index(check, i, is_supported, inner, NULL))
                return false;
    return true;
}

static bool refuse_unknown(struct check *check, const char *keyword)
{
    failure_set(check->failure, -EINVAL, "at %s: %s is unknown here", check->at, keyword);
    return false;
}

static bool is_supported(struct check *check, const json_t *schema, const json_t *value)
{
    const char *name;
    json_t *argument;
    (void)value; /* a schema is visited without one */
    if (json_is_boolean(schema))
        return true;
    if (!json_is_object(schema) || check->depth == SCHEMA_MAX_DEPTH)
        return schema_check_refuse(check, "no schema, or one that contains itself:", schema);
    check->depth++;
    json_object_foreach ((json_t *)schema, name, argument) {
        const struct keyword *keyword = schema_keyword(name);
        if (!keyword)
            return refuse_unknown(check, name);
        if (!has_shape(check, keyword, schema, argument))
            return schema_check_refuse(check, name, argument);
        if (!are_inner_supported(check, keyword, schema, argument))
            return false;
    }
    check->depth--;
    return true;
}

bool schema_is_supported(const json_t *root, const json_t *schema, struct failure *failure)
{
    struct check check = {.root = root, .failure = failure};
    return is_supported(&check, schema, NULL);
}
