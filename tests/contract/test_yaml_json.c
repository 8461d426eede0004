/* What yaml_json.h makes of YAML, and what it refuses. */
#include "tests/contract/yaml_json.h"
#include "tests/support/cmocka.h"

#include <string.h>

TEST(reads_the_core_schema)
{
    static const struct {
        const char *yaml;
        const char *json;
    } rows[] = {
        {"a: 1\nb: -2\nc: 0x1F\nd: 0o17", "{\"a\":1,\"b\":-2,\"c\":31,\"d\":15}"},
        {"[1.5, .5, 1e3]", "[1.5,0.5,1000.0]"},
        {"[true, False, null, ~, ]", "[true,false,null,null]"},
        {"a:\nb: x", "{\"a\":null,\"b\":\"x\"}"},
        {"['1', \"true\", 'null', '']", "[\"1\",\"true\",\"null\",\"\"]"},
        {"[yes, No, on, 1.2.3, 3.1.0x, -, 0x, 12:30]",
         "[\"yes\",\"No\",\"on\",\"1.2.3\",\"3.1.0x\",\"-\",\"0x\",\"12:30\"]"},
        {"'200': {$ref: '#/a'}", "{\"200\":{\"$ref\":\"#/a\"}}"},
        {"a: |\n  x\n  y\nb: >-\n  x\n  y", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}"},
        {"a: \"\\n\"\nb: '\\n'", "{\"a\":\"\\n\",\"b\":\"\\\\n\"}"},
        {"- - 1\n- {}\n- []", "[[1],{},[]]"},
        {"a: 9007199254740991", "{\"a\":9007199254740991}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct failure failure = {""};
        json_t *value = yaml_json_parse(rows[i].yaml, strlen(rows[i].yaml), &failure);
        json_t *expected = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        assert_non_null(expected);
        if (!json_equal(value, expected))
            fail_msg("%s is not %s %s", rows[i].yaml, rows[i].json, failure.text);
        json_decref(value);
        json_decref(expected);
    }
}

TEST(refuses_the_rest)
{
    static const struct {
        const char *yaml;
        const char *reason;
    } rows[] = {
        {"a: 1\na: 2", "line 2: a key twice"},
        {"a: &x 1\nb: *x", "line 2: an alias"},
        {"a: !!str 1", "line 1: a tag"},
        {"[1]: 2", "line 1: a key that is not a scalar"},
        {"a: .inf", "line 1: a number that JSON cannot hold"},
        {"a: 9223372036854775808", "line 1: a number that JSON cannot hold"},
        {"a: 1\n---\nb: 2", "line 2: a second document"},
        {"a: [1", "line 2: did not find expected ',' or ']'"},
        {"", "line 1: no value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct failure failure = {""};
        assert_null(yaml_json_parse(rows[i].yaml, strlen(rows[i].yaml), &failure));
        assert_string_equal(failure.text, rows[i].reason);
    }
}
