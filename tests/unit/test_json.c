/* What is JSON and what is not, by the grammar of RFC 8259, for bodies as clients send them: what
 * must be refused, what must be accepted and how it is kept, and what the RFC leaves open. */
#include "api/access/completion.h"
#include "api/api.h"
#include "api/routes.h"
#include "tests/support/cmocka.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes, NULs included. */
struct text {
    const char *bytes;
    size_t length;
};

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* No value of JSON, nor a part of an object from there on. Each is sent as {"meta":{"v":…}}. */
static const struct text NO_VALUES[] = {
    // clang-format off
    /* numbers */
    TEXT("+1"), TEXT("01"), TEXT("-01"), TEXT("00"), TEXT("-"), TEXT("--1"), TEXT("- 1"),
    TEXT("1."), TEXT(".5"), TEXT("-.5"), TEXT("1.e3"), TEXT("1e"), TEXT("1e+"), TEXT("1e-"),
    TEXT("1e3.5"), TEXT("1e3e3"), TEXT("1.5.5"), TEXT("1 000"), TEXT("1,000"), TEXT("1_000"),
    TEXT("0x10"), TEXT("0b1"), TEXT("0o7"), TEXT("10L"), TEXT("1/2"), TEXT("Infinity"),
    TEXT("-Infinity"), TEXT("inf"), TEXT("NaN"), TEXT("-NaN"), TEXT("\xEF\xBC\x91"), TEXT("1\x00"),
    TEXT("\x00 1"), TEXT("[1\x00]"), TEXT("[true\x00, 1]"), TEXT("[null, \x00]"),
    /* words */
    TEXT("True"), TEXT("FALSE"), TEXT("nul"), TEXT("nulll"), TEXT("undefined"), TEXT("tru e"),
    TEXT("*"), TEXT(""), TEXT("word"),
    /* strings */
    TEXT("\""), TEXT("\"a"), TEXT("'a'"), TEXT("`a`"), TEXT("\"a\"b"), TEXT("\"a\" \"b\""),
    TEXT("\"a\" + \"b\""), TEXT("\"\t\""), TEXT("\"\n\""), TEXT("\"\r\""), TEXT("\"\x01\""),
    TEXT("\"\x1F\""), TEXT("\"a\x00\""), TEXT("\"\\\""), TEXT("\"\\a\""), TEXT("\"\\'\""),
    TEXT("\"\\x41\""), TEXT("\"\\101\""), TEXT("\"\\0\""), TEXT("\"\\U0041\""), TEXT("\"\\u\""),
    TEXT("\"\\u004\""), TEXT("\"\\u00g1\""), TEXT("\"\\u 041\""), TEXT("\"\\u-041\""),
    TEXT("\"\\ud83d\\u00\""), TEXT("\\u0022a\\u0022"),
    /* bytes that are no UTF-8 */
    TEXT("\"\x80\""), TEXT("\"\xC3\""), TEXT("\"\xC3(\""), TEXT("\"\xE4\""), TEXT("\"\xC0\x80\""),
    TEXT("\"\xC1\xBF\""), TEXT("\"\xE0\x80\x80\""), TEXT("\"\xE2\x82\""), TEXT("\"\xED\xA0\x80\""),
    TEXT("\"\xED\xA0\xBD\xED\xB8\x80\""), TEXT("\"\xF0\x80\x80\x80\""),
    TEXT("\"\xF4\x90\x80\x80\""), TEXT("\"\xF5\x80\x80\x80\""), TEXT("\"\xF8\x88\x80\x80\x80\""),
    TEXT("\"\xFE\""), TEXT("\"\xFF\""), TEXT("\xFF"), TEXT("{\"\xFF\":1}"),
    /* lists */
    TEXT("["), TEXT("]"), TEXT("[1"), TEXT("[1,"), TEXT("[1,]"), TEXT("[,1]"), TEXT("[,]"),
    TEXT("[1,,2]"), TEXT("[1 2]"), TEXT("[1;2]"), TEXT("[1:2]"), TEXT("[\"a\":1]"), TEXT("[1}"),
    TEXT("(1)"), TEXT("[1]]"), TEXT("[\x0B]"), TEXT("[\x0C]"), TEXT("[\xC2\xA0]"),
    TEXT("[\xE2\x80\xA8]"),
    /* objects */
    TEXT("{"), TEXT("{\"a\""), TEXT("{\"a\":"), TEXT("{\"a\"}"), TEXT("{\"a\":}"),
    TEXT("{\"a\" 1}"), TEXT("{\"a\"::1}"), TEXT("{\"a\"=1}"), TEXT("{\"a\",1}"), TEXT("{\"a\":1,}"),
    TEXT("{,}"), TEXT("{,\"a\":1}"), TEXT("{\"a\":1,,\"b\":2}"), TEXT("{\"a\":1 \"b\":2}"),
    TEXT("{\"a\":1;\"b\":2}"), TEXT("{\"a\":1:2}"), TEXT("{a:1}"), TEXT("{'a':1}"), TEXT("{1:1}"),
    TEXT("{null:1}"), TEXT("{[1]:1}"), TEXT("{\"a\":1]"), TEXT("{{}}"), TEXT("{\"a\":[}]}"),
    /* what others allow */
    TEXT("1 // one"), TEXT("1 /* one */"), TEXT("/* one */ 1"), TEXT("1 # one"), TEXT("[...]"),
    TEXT("<null>"), TEXT("new Date()"),
    // clang-format on
};

/* No document at all, or more than one. */
static const struct text NO_DOCUMENTS[] = {
    // clang-format off
    TEXT(" "), TEXT("\n"), TEXT("{"), TEXT("}"), TEXT("{}}"), TEXT("{}{}"), TEXT("{} {}"),
    TEXT("{}\n{}"), TEXT("{},"), TEXT("{}x"), TEXT("{}\x00"), TEXT("\x00{}"), TEXT("{\x00}"),
    TEXT("{} //"), TEXT("#\n{}"), TEXT("\xEF\xBB\xBF{}"), TEXT("\xFE\xFF\x00{\x00}"),
    TEXT("{\x00}\x00"), TEXT("\x0B{}"), TEXT("\xC2\xA0{}"), TEXT("{\"owner\":\"me\""),
    TEXT("\"owner\":\"me\""), TEXT("owner=me"), TEXT("<owner>me</owner>"),
    // clang-format on
};

/* Documents of JSON, but none of ours: a body is an object. */
static const struct text OTHER_DOCUMENTS[] = {
    TEXT("[]"), TEXT("[{}]"), TEXT("true"), TEXT("0"), TEXT("-1.5e3"), TEXT("\"a\""),
};

/* A value, and how it is shown to who inspects the lock, in the shortest form. */
static const struct value {
    struct text text;
    const char *shown;
} VALUES[] = {
    {TEXT("0"), "0"},
    {TEXT("-0"), "0"},
    {TEXT("-0.0"), "-0.0"},
    {TEXT("12"), "12"},
    {TEXT("-12"), "-12"},
    {TEXT("9007199254740993"), "9007199254740993"},
    {TEXT("9223372036854775807"), "9223372036854775807"},
    {TEXT("-9223372036854775808"), "-9223372036854775808"},
    {TEXT("1.5"), "1.5"},
    {TEXT("-1.25"), "-1.25"},
    {TEXT("1e3"), "1000.0"},
    {TEXT("1E3"), "1000.0"},
    {TEXT("1e+3"), "1000.0"},
    {TEXT("1e-3"), "0.001"},
    {TEXT("0e1"), "0.0"},
    {TEXT("0.0E+00"), "0.0"},
    {TEXT("15e-1"), "1.5"},
    {TEXT(" 1 "), "1"},
    {TEXT("\t\r\n 1\t\r\n "), "1"},
    {TEXT("true"), "true"},
    {TEXT("false"), "false"},
    {TEXT("null"), "null"},
    {TEXT("\"\""), "\"\""},
    {TEXT("\"a b\""), "\"a b\""},
    {TEXT("\"\x7F\""), "\"\x7F\""},
    {TEXT("\"/\""), "\"/\""},
    {TEXT("\"\\/\""), "\"/\""},
    {TEXT("\"\\\"\\\\\\b\\f\\n\\r\\t\""), "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
    {TEXT("\"\\u0061\\u0041\""), "\"aA\""},
    {TEXT("\"\\u00e4\\u00E4\""), "\"\xC3\xA4\xC3\xA4\""},
    {TEXT("\"\\u0001\""), "\"\\u0001\""},
    {TEXT("\"\\u0022\\u005C\""), "\"\\\"\\\\\""},
    {TEXT("\"\\\\u0061\""), "\"\\\\u0061\""},
    {TEXT("\"\\ud83d\\ude00\""), "\"\xF0\x9F\x98\x80\""},
    {TEXT("\"\\uDBFF\\uDFFF\""), "\"\xF4\x8F\xBF\xBF\""},
    {TEXT("\"\\u2028\\u2029\""), "\"\xE2\x80\xA8\xE2\x80\xA9\""},
    {TEXT("\"\xC3\xA4\""), "\"\xC3\xA4\""},
    {TEXT("\"\xED\x9F\xBF\""), "\"\xED\x9F\xBF\""},
    {TEXT("\"\xEE\x80\x80\""), "\"\xEE\x80\x80\""},
    {TEXT("\"\xEF\xBF\xBF\""), "\"\xEF\xBF\xBF\""},
    {TEXT("\"\xF0\x90\x80\x80\""), "\"\xF0\x90\x80\x80\""},
    {TEXT("\"\xE2\x82\xAC // /* # \""), "\"\xE2\x82\xAC // /* # \""},
    {TEXT("[]"), "[]"},
    {TEXT("[ ]"), "[]"},
    {TEXT("[1]"), "[1]"},
    {TEXT("[ 1 , \"a\" , null ]"), "[1,\"a\",null]"},
    {TEXT("[[[[]]]]"), "[[[[]]]]"},
    {TEXT("{}"), "{}"},
    {TEXT("{ }"), "{}"},
    {TEXT("{\"\":0}"), "{\"\":0}"},
    {TEXT("{\"a\":1,\"b\":2}"), "{\"a\":1,\"b\":2}"},
    {TEXT("{\"a\" : {\"a\" : {\"a\" : []}}}"), "{\"a\":{\"a\":{\"a\":[]}}}"},
    {TEXT("{\"\\u0061\":1,\"A\":2}"), "{\"a\":1,\"A\":2}"},
    {TEXT("{\"[{,:\\\"\":\"]}\"}"), "{\"[{,:\\\"\":\"]}\"}"},
    /* What the RFC leaves open: numbers of any precision are read as the nearest double, those that
     * are next to nothing as 0; a character that Unicode has set aside is one like any other. */
    {TEXT("0.1000000000000000055511151231257827"), "0.10000000000000001"},
    {TEXT("1e-999"), "0.0"},
    {TEXT("1.7976931348623157e308"), "1.7976931348623157e308"},
    {TEXT("\"\\uFFFE\\uFDD0\""), "\"\xEF\xBF\xBE\xEF\xB7\x90\""},
};

/* What the RFC leaves open, and is refused here since not all would understand it alike. */
static const struct text NOT_OURS[] = {
    TEXT("\"\\ud83d\""), /* half of a pair */
    TEXT("\"\\ude00\""),
    TEXT("\"\\ude00\\ud83d\""),
    TEXT("\"\\ud83d\\u0061\""),
    TEXT("\"\\ud83dx\""),
    TEXT("\"\\u0000\""), /* where C would see the end */
    TEXT("{\"a\\u0000b\":1}"),
    TEXT("{\"a\":1,\"a\":1}"), /* one key twice, however it is written */
    TEXT("{\"a\":1,\"\\u0061\":2}"),
    TEXT("[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]"), /* 15 in two others */
};

static struct text document_of(struct text value, char *room, size_t size)
{
    static const char BEFORE[] = "{\"meta\":{\"v\":", AFTER[] = "}}";
    size_t length = sizeof BEFORE - 1;
    assert_true(length + value.length + sizeof AFTER <= size);
    memcpy(room, BEFORE, length);
    memcpy(room + length, value.bytes, value.length);
    length += value.length;
    memcpy(room + length, AFTER, sizeof AFTER);
    return (struct text){room, length + sizeof AFTER - 1};
}

/* Reads it as the body of an acquire. The exchange is the caller's to clear. */
static bool is_read(struct exchange *exchange, struct text document)
{
    static struct api api = {.max_ttl_ms = 86400000, .max_wait_ms = 60000};
    const struct route *route = ROUTES;
    while (strcmp(route->operation_id, "acquireLock") != 0)
        route++;
    *exchange = (struct exchange){.api = &api,
                                  .route = route,
                                  .head.method = "POST",
                                  .head.target = "/locks/json",
                                  .head.content_type = "application/json",
                                  .body = {document.bytes, document.length}};
    return fields_read(exchange, route->fields);
}

/* As a problem that says why. */
static void assert_refused(struct text document)
{
    struct exchange exchange;
    bool read = is_read(&exchange, document);
    json_t *problem = json_loadb(exchange.reply.body, exchange.reply.length, 0, NULL);
    const char *code = json_string_value(json_object_get(problem, "code"));
    bool is_problem =
        code && (strcmp(code, "invalid_json") == 0 ||
                 (strcmp(code, "invalid_parameter") == 0 && json_object_get(problem, "parameter")));
    if (read || exchange.reply.status != 400 || !is_problem || !json_object_get(problem, "detail"))
        fail_msg("%.*s: %u %s", (int)document.length, document.bytes, exchange.reply.status,
                 code ? code : "");
    json_decref(problem);
    exchange_clear(&exchange);
}

static void assert_all_refused(const struct text *values, size_t count)
{
    char room[256];
    for (size_t i = 0; i < count; i++)
        assert_refused(document_of(values[i], room, sizeof room));
}

TEST(malformed_value_is_refused)
{
    assert_all_refused(NO_VALUES, LENGTH(NO_VALUES));
}

TEST(ambiguous_value_is_refused)
{
    assert_all_refused(NOT_OURS, LENGTH(NOT_OURS));
}

TEST(malformed_document_is_refused)
{
    for (size_t i = 0; i < LENGTH(NO_DOCUMENTS); i++)
        assert_refused(NO_DOCUMENTS[i]);
    for (size_t i = 0; i < LENGTH(OTHER_DOCUMENTS); i++)
        assert_refused(OTHER_DOCUMENTS[i]);
}

TEST(value_is_accepted_and_kept)
{
    char room[256];
    for (size_t i = 0; i < LENGTH(VALUES); i++) {
        struct exchange exchange;
        if (!is_read(&exchange, document_of(VALUES[i].text, room, sizeof room)))
            fail_msg("%s: %.*s", room, (int)exchange.reply.length, exchange.reply.body);
        struct slice meta = exchange.parameters.texts[FIELD_META];
        json_t *kept = json_loadb(meta.bytes, meta.length, 0, NULL);
        char *shown = json_dumps(json_object_get(kept, "v"), JSON_COMPACT | JSON_ENCODE_ANY);
        if (!shown || strcmp(shown, VALUES[i].shown) != 0)
            fail_msg("%s is kept as %s", VALUES[i].text.bytes, shown ? shown : "nothing");
        free(shown);
        json_decref(kept);
        exchange_clear(&exchange);
    }
}

/* As the fields of a request are, so is the white space around them. */
TEST(document_is_accepted)
{
    static const struct text DOCUMENTS[] = {
        TEXT("{}"),
        TEXT(" {} "),
        TEXT("\t\r\n{\t\r\n}\t\r\n"),
        TEXT("{\"owner\":\"me\"}"),
        TEXT("{ \"owner\" : \"me\" , \"mode\" : \"shared\" }"),
        TEXT("{\"\\u006fwner\":\"\\u006de\"}"),
    };
    for (size_t i = 0; i < LENGTH(DOCUMENTS); i++) {
        struct exchange exchange;
        if (!is_read(&exchange, DOCUMENTS[i]))
            fail_msg("%s: %.*s", DOCUMENTS[i].bytes, (int)exchange.reply.length,
                     exchange.reply.body);
        if (i > 2)
            assert_true(slice_equals(exchange.parameters.texts[FIELD_OWNER], "me"));
        exchange_clear(&exchange);
    }
}
