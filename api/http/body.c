#include "api/http/body.h"

#include "api/http/json_text.h"
#include "api/http/problem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DETAIL_LENGTH = 128 };

static bool is_json_type(const char *content_type)
{
    static const char JSON[] = "application/json";
    size_t length = sizeof JSON - 1;
    return content_type && strncasecmp(content_type, JSON, length) == 0 &&
           (content_type[length] == '\0' || strchr("; \t", content_type[length]));
}

/* Refuses what jansson accepts: any depth, and a NUL after a number or a word. */
static bool check_text(struct exchange *exchange)
{
    bool has_nul = memchr(exchange->body.bytes, '\0', exchange->body.length);
    bool is_deep = json_text_is_deep(exchange->body);
    if (has_nul)
        problem_simply(exchange, PROBLEM_INVALID_JSON, "The body has a NUL byte. Send only text.");
    else if (is_deep)
        problem_simply(exchange, PROBLEM_INVALID_JSON,
                       "The body is nested more than %d levels deep. Send a flatter one.",
                       JSON_TEXT_DEPTH);
    return !has_nul && !is_deep;
}

/* Jansson describes some errors for its caller; this describes them for the client. */
static const char *body_describe(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a string has \\u0000, which ends a string in many languages. Leave it out.";
    case json_error_premature_end_of_input:
        return "the body ends too early. Close all brackets and quotes.";
    case json_error_end_of_input_expected:
        return "there is text after the end of the object. Send one object.";
    case json_error_duplicate_key:
        return "a key occurs twice. Send each key once.";
    default:
        return error->text;
    }
}

static const char *kind_of(const json_t *value)
{
    static const char *const KINDS[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return KINDS[json_typeof(value)];
}

static bool refuse_media_type(struct exchange *exchange, const char *what_to_do)
{
    problem_simply(exchange, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "%s", what_to_do);
    return false;
}

static bool check_type(struct exchange *exchange)
{
    const char *coding = exchange->head.content_encoding;
    if (!is_json_type(exchange->head.content_type))
        return refuse_media_type(exchange, "Send the body as Content-Type: application/json, or "
                                           "use query parameters.");
    if (coding && coding[0] && strcasecmp(coding, "identity") != 0)
        return refuse_media_type(exchange, "The body has a Content-Encoding, and batond decodes "
                                           "none. Send the plain body, without that field.");
    return true;
}

bool body_parse(struct exchange *exchange)
{
    if (!check_type(exchange) || !check_text(exchange))
        return false;
    json_error_t error;
    exchange->kept.json =
        json_text_load(exchange->body, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!exchange->kept.json) {
        problem_simply(exchange, PROBLEM_INVALID_JSON, "line %d, column %d: %s", error.line,
                       error.column, body_describe(&error));
        return false;
    }
    if (!json_is_object(exchange->kept.json) && !json_is_null(exchange->kept.json)) {
        char detail[DETAIL_LENGTH];
        snprintf(detail, sizeof detail,
                 "expected a JSON object, such as {\"ttl_ms\": 30000}; got %s.",
                 kind_of(exchange->kept.json));
        problem_parameter(exchange, "body", detail);
        return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool body_is_null(const struct exchange *exchange)
{
    struct slice body = exchange->body;
    if (!body.bytes)
        return false;
    while (body.length > 0 && is_space(body.bytes[0]))
        body = (struct slice){body.bytes + 1, body.length - 1};
    while (body.length > 0 && is_space(body.bytes[body.length - 1]))
        body.length--;
    return slice_equals(body, "null");
}
