/* The judge is judged: what schema.h has to accept and has to refuse. */
#include "tests/contract/schema.h"
#include "tests/support/cmocka.h"

/* What every schema here may refer to. */
static const char ROOT[] = "{\"defs\":{\"id\":{\"type\":\"string\",\"minLength\":2},"
                           "\"base\":{\"type\":\"object\",\"required\":[\"code\"],"
                           "\"properties\":{\"code\":{\"type\":\"string\"}}},"
                           "\"loop\":{\"items\":{\"$ref\":\"#/defs/loop\"}}}}";

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value)
        fail_msg("%s in %s", error.text, text);
    return value;
}

struct verdict {
    const char *schema;
    const char *value;
};

typedef bool schema_question(const json_t *root, const json_t *schema, const json_t *value,
                             struct failure *failure);

/* Asks `question` of each row; schemas have to be supported first. */
static void expect_all(const struct verdict *rows, size_t count, schema_question *question,
                       bool expected)
{
    json_t *root = parse(ROOT);
    for (size_t i = 0; i < count; i++) {
        struct failure failure = {""};
        json_t *schema = parse(rows[i].schema), *value = parse(rows[i].value);
        if (!schema_is_supported(root, schema, &failure))
            fail_msg("%s: %s", rows[i].schema, failure.text);
        if (question(root, schema, value, &failure) != expected)
            fail_msg("%s and %s: %s", rows[i].schema, rows[i].value, failure.text);
        if (!expected)
            assert_string_not_equal(failure.text, "");
        json_decref(schema);
        json_decref(value);
    }
    json_decref(root);
}

#define EXPECT(rows, question, expected)                                                           \
    expect_all(rows, sizeof(rows) / sizeof(rows)[0], question, expected)

TEST(accepts_what_fits)
{
    static const struct verdict rows[] = {
        {"true", "7"},
        {"{}", "null"},
        {"{\"type\":\"null\"}", "null"},
        {"{\"type\":\"integer\"}", "-3"},
        {"{\"type\":\"number\"}", "2.5"},
        {"{\"type\":\"number\"}", "2"},
        {"{\"type\":[\"string\",\"null\"]}", "null"},
        {"{\"type\":[\"string\",\"null\"]}", "\"a\""},
        {"{\"enum\":[1,\"a\",null]}", "null"},
        {"{\"const\":{\"a\":[1]}}", "{\"a\":[1]}"},
        {"{\"minimum\":1,\"maximum\":3}", "1"},
        {"{\"minimum\":1,\"maximum\":3}", "3"},
        {"{\"maximum\":9007199254740991}", "9007199254740991"},
        {"{\"minimum\":1}", "\"a bound of numbers says nothing of strings\""},
        {"{\"minLength\":2,\"maxLength\":2}", "\"\u00e4\u20ac\""},
        {"{\"maxLength\":0}", "[1]"},
        {"{\"pattern\":\"b+\"}", "\"abbc\""},
        {"{\"pattern\":\"^[a-c]{3}$\"}", "\"abc\""},
        {"{\"pattern\":\"^x\\n$\"}", "\"x\\n\""},
        {"{\"pattern\":\"^a\"}", "1"},
        {"{\"minItems\":1,\"maxItems\":2}", "[1,2]"},
        {"{\"minItems\":1}", "{}"},
        {"{\"uniqueItems\":true}", "[1,\"1\",[1],2]"},
        {"{\"uniqueItems\":false}", "[1,1]"},
        {"{\"uniqueItems\":true}", "{}"},
        {"{\"items\":{\"type\":\"integer\"}}", "[1,2]"},
        {"{\"items\":{\"type\":\"integer\"}}", "{\"a\":\"no array\"}"},
        {"{\"required\":[\"a\"]}", "{\"a\":null}"},
        {"{\"required\":[\"a\"]}", "\"no object\""},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"b\":1}"},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}},\"additionalProperties\":false}",
         "{\"a\":\"x\"}"},
        {"{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"a\":1,\"b\":2}"},
        {"{\"$ref\":\"#/defs/id\"}", "\"ab\""},
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2"},
        {"{\"anyOf\":[{\"minimum\":3},{\"type\":\"integer\"}]}", "2"},
        {"{\"anyOf\":[{\"minimum\":1},{\"type\":\"integer\"}]}", "2"},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "null"},
        {"{\"format\":\"uri\",\"description\":\"d\",\"default\":3}", "\"no uri\""},
    };
    EXPECT(rows, schema_accepts, true);
}

TEST(refuses_what_does_not)
{
    static const struct verdict rows[] = {
        {"false", "7"},
        {"{\"type\":\"null\"}", "0"},
        {"{\"type\":\"boolean\"}", "0"},
        {"{\"type\":\"integer\"}", "1.5"},
        {"{\"type\":\"integer\"}", "\"1\""},
        {"{\"type\":\"integer\"}", "true"},
        {"{\"type\":\"object\"}", "[]"},
        {"{\"type\":[\"string\",\"null\"]}", "1"},
        {"{\"enum\":[1,\"a\"]}", "\"1\""},
        {"{\"const\":true}", "1"},
        {"{\"minimum\":1}", "0.99"},
        {"{\"maximum\":3}", "4"},
        {"{\"maximum\":9007199254740991}", "9007199254740992"},
        {"{\"minLength\":2}", "\"\u20ac\""},
        {"{\"maxLength\":1}", "\"ab\""},
        {"{\"pattern\":\"^[a-c]{3}$\"}", "\"abcd\""},
        {"{\"pattern\":\"^[a-c]{3}$\"}", "\"abc\\n\""},
        {"{\"pattern\":\"^[a-c]{3}$\"}", "\"abc\\u0000\""},
        {"{\"pattern\":\"^[a-c]{3}$\"}", "\"\\nabc\""},
        {"{\"minItems\":1}", "[]"},
        {"{\"maxItems\":1}", "[1,2]"},
        {"{\"uniqueItems\":true}", "[[1],2,[1]]"},
        {"{\"items\":{\"type\":\"integer\"}}", "[1,\"2\"]"},
        {"{\"required\":[\"a\",\"b\"]}", "{\"a\":1}"},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1}"},
        {"{\"properties\":{\"a\":{\"items\":{\"minimum\":2}}}}", "{\"a\":[2,1]}"},
        {"{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1,\"b\":2}"},
        {"{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"a\":1,\"b\":\"2\"}"},
        {"{\"$ref\":\"#/defs/id\"}", "\"a\""},
        {"{\"$ref\":\"#/defs/id\",\"maxLength\":3}", "\"abcd\""},
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4"},
        {"{\"allOf\":[{\"$ref\":\"#/defs/base\"},{\"properties\":{\"code\":{\"const\":\"a\"}}}]}",
         "{\"code\":\"b\"}"},
        {"{\"anyOf\":[{\"minimum\":3},{\"type\":\"string\"}]}", "2"},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1"},
        {"{\"oneOf\":[{\"minimum\":1},{\"type\":\"integer\"}]}", "2"},
    };
    EXPECT(rows, schema_accepts, false);
}

TEST(finds_what_a_schema_does_not_name)
{
    static const struct verdict named[] = {
        {"{\"properties\":{\"a\":true}}", "{\"a\":{\"b\":1}}"},
        {"{\"additionalProperties\":true}", "{\"a\":{\"b\":1}}"},
        {"{\"allOf\":[{\"$ref\":\"#/defs/base\"},{\"properties\":{\"b\":{}}}]}",
         "{\"code\":\"a\",\"b\":1}"},
        {"{\"oneOf\":[{\"required\":[\"a\"],\"properties\":{\"a\":{}}},{\"type\":\"null\"}]}",
         "{\"a\":1}"},
        {"{\"items\":{\"$ref\":\"#/defs/base\"}}", "[{\"code\":\"a\"}]"},
        {"{}", "3"},
    };
    static const struct verdict unnamed[] = {
        {"{}", "{\"a\":1}"},
        {"{\"$ref\":\"#/defs/base\"}", "{\"code\":\"a\",\"b\":1}"},
        {"{\"items\":{\"$ref\":\"#/defs/base\"}}", "[{\"code\":\"a\",\"b\":1}]"},
        {"{\"properties\":{\"a\":{\"properties\":{}}}}", "{\"a\":{\"b\":1}}"},
        {"{\"oneOf\":[{\"required\":[\"a\"],\"properties\":{\"a\":{},\"b\":{}}},"
         "{\"required\":[\"c\"],\"properties\":{\"c\":{}}}]}",
         "{\"b\":1,\"c\":2}"},
    };
    EXPECT(named, schema_names_all, true);
    EXPECT(unnamed, schema_names_all, false);
}

TEST(knows_what_it_cannot_judge)
{
    static const char *const schemas[] = {
        "{\"minLenght\":1}",
        "{\"properties\":{\"a\":{\"multipleOf\":2}}}",
        "{\"oneOf\":[{\"type\":\"string\"},{\"not\":{}}]}",
        "{\"items\":{\"contains\":{}}}",
        "{\"uniqueItems\":1}",
        "{\"additionalProperties\":{\"dependentRequired\":{}}}",
        "{\"type\":\"text\"}",
        "{\"type\":[]}",
        "{\"minimum\":\"1\"}",
        "{\"minLength\":-1}",
        "{\"required\":\"a\"}",
        "{\"properties\":[]}",
        "{\"pattern\":\"^\\\\d$\"}",
        "{\"pattern\":\"(?:a)\"}",
        "{\"pattern\":\"[a\"}",
        "{\"$ref\":\"#/defs/missing\"}",
        "{\"$ref\":\"other.yaml#/a\"}",
        "{\"$ref\":\"#/defs/loop\"}",
        "\"string\"",
    };
    json_t *root = parse(ROOT);
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        struct failure failure = {""};
        json_t *schema = parse(schemas[i]);
        if (schema_is_supported(root, schema, &failure))
            fail_msg("%s passed for a schema", schemas[i]);
        assert_string_not_equal(failure.text, "");
        json_decref(schema);
    }
    json_decref(root);
}

TEST(says_where_and_why)
{
    struct failure failure = {""};
    json_t *schema = parse("{\"properties\":{\"a\":{\"items\":{\"minimum\":2}}}}");
    json_t *value = parse("{\"a\":[2,1]}");
    assert_false(schema_accepts(schema, schema, value, &failure));
    assert_string_equal(failure.text, "at /a/1: minimum 2");
    json_decref(schema);
    json_decref(value);
}
