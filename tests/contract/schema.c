#include "tests/contract/schema_check.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool schema_check_refuse(struct check *check, const char *reason, const json_t *what)
{
    char *text = what ? json_dumps(what, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    failure_set(check->failure, -EINVAL, "at %s: %s%s%.120s", *check->at ? check->at : "/", reason,
                text ? " " : "", text ? text : "");
    free(text);
    return false;
}

bool schema_check_below(struct check *check, const char *step, schema_visit *visit,
                        const json_t *schema, const json_t *value)
{
    size_t end = strlen(check->at);
    snprintf(check->at + end, sizeof check->at - end, "/%s", step);
    bool passed = visit(check, schema, value);
    check->at[end] = '\0';
    return passed;
}

bool schema_check_below_index(struct check *check, size_t i, schema_visit *visit,
                              const json_t *schema, const json_t *value)
{
    char step[24];
    snprintf(step, sizeof step, "%zu", i);
    return schema_check_below(check, step, visit, schema, value);
}

const json_t *schema_resolve(const json_t *root, const json_t *node)
{
    char step[128];
    for (int depth = 0; json_object_get(node, "$ref"); depth++) {
        const char *at = json_string_value(json_object_get(node, "$ref"));
        if (depth == SCHEMA_MAX_DEPTH || !at || *at++ != '#')
            return NULL;
        for (node = root; *at == '/'; at += strlen(step)) {
            snprintf(step, sizeof step, "%.*s", (int)strcspn(at + 1, "/"), at + 1);
            node = json_object_get(node, step);
            at++;
        }
    }
    return node;
}

/* Keywords that judge any value. */

static bool is_type(const json_t *value, const char *type)
{
    const struct {
        const char *name;
        bool is;
    } types[] = {
        {"null", json_is_null(value)},       {"boolean", json_is_boolean(value)},
        {"integer", json_is_integer(value)}, {"number", json_is_number(value)},
        {"string", json_is_string(value)},   {"array", json_is_array(value)},
        {"object", json_is_object(value)},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(type, types[i].name))
            return types[i].is;
    return false;
}

static bool check_type(struct check *check, const json_t *types, const json_t *value)
{
    size_t i;
    json_t *type;
    if (json_is_string(types) && is_type(value, json_string_value(types)))
        return true;
    json_array_foreach (types, i, type)
        if (is_type(value, json_string_value(type)))
            return true;
    return schema_check_refuse(check, "its type is not", types);
}

static bool check_enum(struct check *check, const json_t *choices, const json_t *value)
{
    size_t i;
    json_t *choice;
    json_array_foreach (choices, i, choice)
        if (json_equal(choice, value))
            return true;
    return schema_check_refuse(check, "none of", choices);
}

static bool check_const(struct check *check, const json_t *constant, const json_t *value)
{
    return json_equal(constant, value) || schema_check_refuse(check, "it is not", constant);
}

static bool check_ref(struct check *check, const json_t *reference, const json_t *value)
{
    const json_t *target = schema_resolve(check->root, check->schema);
    return target ? schema_check_accepts(check, target, value)
                  : schema_check_refuse(check, "nothing at", reference);
}

static bool check_all_of(struct check *check, const json_t *branches, const json_t *value)
{
    size_t i;
    json_t *branch;
    json_array_foreach (branches, i, branch)
        if (!schema_check_accepts(check, branch, value))
            return false;
    return true;
}

/* Where there is none, the failure is that of the last branch. */
static size_t count_accepting(struct check *check, const json_t *branches, const json_t *value)
{
    size_t i, count = 0;
    json_t *branch;
    json_array_foreach (branches, i, branch)
        count += schema_check_accepts(check, branch, value);
    return count;
}

static bool check_any_of(struct check *check, const json_t *branches, const json_t *value)
{
    return count_accepting(check, branches, value) > 0;
}

static bool check_one_of(struct check *check, const json_t *branches, const json_t *value)
{
    size_t count = count_accepting(check, branches, value);
    return count < 2 ? count == 1
                     : schema_check_refuse(check, "more than one takes it of oneOf", branches);
}

/* Keywords that are bounds. */

static bool measure_number(const json_t *value, double *ret)
{
    *ret = json_number_value(value);
    return json_is_number(value);
}

static bool measure_characters(const json_t *value, double *ret)
{
    const char *bytes = json_string_value(value);
    *ret = 0;
    for (size_t i = 0; i < json_string_length(value); i++)
        *ret += (bytes[i] & 0xC0) != 0x80;
    return json_is_string(value);
}

static bool measure_items(const json_t *value, double *ret)
{
    *ret = (double)json_array_size(value);
    return json_is_array(value);
}

static bool check_least(struct check *check, const json_t *bound, const json_t *value)
{
    double size;
    return !check->keyword->measure(value, &size) || size >= json_number_value(bound) ||
           schema_check_refuse(check, check->keyword->name, bound);
}

static bool check_most(struct check *check, const json_t *bound, const json_t *value)
{
    double size;
    return !check->keyword->measure(value, &size) || size <= json_number_value(bound) ||
           schema_check_refuse(check, check->keyword->name, bound);
}

/* Keywords that judge one kind of value, and let pass every other. */

static bool check_pattern(struct check *check, const json_t *pattern, const json_t *value)
{
    regex_t regex;
    if (!json_is_string(value))
        return true;
    if (regcomp(&regex, json_string_value(pattern), REG_EXTENDED))
        return schema_check_refuse(check, "not a pattern:", pattern);
    regmatch_t whole = {0, (regoff_t)json_string_length(value)};
    int missed = regexec(&regex, json_string_value(value), 1, &whole, REG_STARTEND);
    regfree(&regex);
    return !missed || schema_check_refuse(check, "it does not match", pattern);
}

static bool check_unique(struct check *check, const json_t *wanted, const json_t *value)
{
    size_t i, k;
    json_t *item;
    json_array_foreach (value, i, item)
        for (k = 0; json_is_true(wanted) && k < i; k++)
            if (json_equal(json_array_get(value, k), item))
                return schema_check_refuse(check, "twice in it:", item);
    return true;
}

static bool check_items(struct check *check, const json_t *item_schema, const json_t *value)
{
    size_t i;
    json_t *item;
    json_array_foreach (value, i, item)
        if (!schema_check_below_index(check, i, schema_check_accepts, item_schema, item))
            return false;
    return true;
}

static bool check_required(struct check *check, const json_t *names, const json_t *value)
{
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name)
        if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
            return schema_check_refuse(check, "there is no", name);
    return true;
}

static bool check_properties(struct check *check, const json_t *properties, const json_t *value)
{
    const char *name;
    json_t *property;
    json_object_foreach ((json_t *)properties, name, property) {
        const json_t *member = json_object_get(value, name);
        if (member && !schema_check_below(check, name, schema_check_accepts, property, member))
            return false;
    }
    return true;
}

static bool check_additional(struct check *check, const json_t *additional, const json_t *value)
{
    const json_t *properties = json_object_get(check->schema, "properties");
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *)value, name, member)
        if (!json_object_get(properties, name) &&
            !schema_check_below(check, name, schema_check_accepts, additional, member))
            return false;
    return true;
}

static const struct keyword KEYWORDS[] = {
    {"$ref", SHAPE_REFERENCE, check_ref, NULL},
    {"type", SHAPE_TYPES, check_type, NULL},
    {"enum", SHAPE_LIST, check_enum, NULL},
    {"const", SHAPE_ANY, check_const, NULL},
    {"allOf", SHAPE_SCHEMA_LIST, check_all_of, NULL},
    {"anyOf", SHAPE_SCHEMA_LIST, check_any_of, NULL},
    {"oneOf", SHAPE_SCHEMA_LIST, check_one_of, NULL},
    {"minimum", SHAPE_NUMBER, check_least, measure_number},
    {"maximum", SHAPE_NUMBER, check_most, measure_number},
    {"minLength", SHAPE_COUNT, check_least, measure_characters},
    {"maxLength", SHAPE_COUNT, check_most, measure_characters},
    {"minItems", SHAPE_COUNT, check_least, measure_items},
    {"maxItems", SHAPE_COUNT, check_most, measure_items},
    {"pattern", SHAPE_PATTERN, check_pattern, NULL},
    {"uniqueItems", SHAPE_FLAG, check_unique, NULL},
    {"items", SHAPE_SCHEMA, check_items, NULL},
    {"required", SHAPE_NAMES, check_required, NULL},
    {"properties", SHAPE_SCHEMA_OBJECT, check_properties, NULL},
    {"additionalProperties", SHAPE_SCHEMA, check_additional, NULL},
    {"title", SHAPE_TEXT, NULL, NULL},
    {"description", SHAPE_TEXT, NULL, NULL},
    {"format", SHAPE_TEXT, NULL, NULL},
    {"default", SHAPE_ANY, NULL, NULL},
};

const struct keyword *schema_keyword(const char *name)
{
    for (size_t i = 0; i < sizeof KEYWORDS / sizeof KEYWORDS[0]; i++)
        if (!strcmp(KEYWORDS[i].name, name))
            return &KEYWORDS[i];
    return NULL;
}

bool schema_check_accepts(struct check *check, const json_t *schema, const json_t *value)
{
    const char *name;
    json_t *argument;
    if (json_is_boolean(schema))
        return json_is_true(schema) || schema_check_refuse(check, "nothing is allowed here", NULL);
    json_object_foreach ((json_t *)schema, name, argument) {
        check->schema = schema;
        check->keyword = schema_keyword(name);
        if (!check->keyword)
            return schema_check_refuse(check, "unknown keyword", schema);
        if (check->keyword->check && !check->keyword->check(check, argument, value))
            return false;
    }
    return true;
}

bool schema_accepts(const json_t *root, const json_t *schema, const json_t *value,
                    struct failure *failure)
{
    /* A branch that was left for another one leaves its failure behind: not one of the whole. */
    struct failure why = {.text = ""};
    struct check check = {.root = root, .failure = &why};
    bool accepted = schema_check_accepts(&check, schema, value);
    if (!accepted)
        *failure = why;
    return accepted;
}
