#include "api/body.h"

#include "api/problem.h"

#include <string.h>
#include <strings.h>

enum { JSON_DEPTH = 16 };

/* How deep the brackets nest; brackets within strings do not count. */
static int json_depth(struct slice text)
{
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

static bool is_json_type(const char *content_type)
{
    static const char JSON[] = "application/json";
    size_t length = sizeof JSON - 1;
    return content_type && strncasecmp(content_type, JSON, length) == 0 &&
           (content_type[length] == '\0' || strchr("; \t", content_type[length]));
}

/* An integer that has no room in 64 bits is out of a field's range, though jansson sees bad JSON:
 * this names the field. False, with nothing answered, where no field itself is such a number. */
static bool refuse_number_too_large(struct exchange *exchange)
{
    const char *key;
    json_t *value;
    exchange->json = json_loadb(exchange->body.bytes, exchange->body.length,
                                JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    json_object_foreach (exchange->json, key, value) {
        double number = json_real_value(value);
        if (number >= 9223372036854775808.0 || number < -9223372036854775808.0) {
            problem_parameter(exchange, key, "the number is too large for any field");
            return true;
        }
    }
    json_decref(exchange->json);
    exchange->json = NULL;
    return false;
}

/* What jansson lets pass: any depth, and a NUL behind a number or a word. */
static bool check_text(struct exchange *exchange)
{
    bool has_nul = memchr(exchange->body.bytes, '\0', exchange->body.length);
    bool is_deep = json_depth(exchange->body) > JSON_DEPTH;
    if (has_nul)
        problem_simply(exchange, PROBLEM_INVALID_JSON, "the body has a NUL byte: send text alone");
    else if (is_deep)
        problem_simply(exchange, PROBLEM_INVALID_JSON,
                       "the body has more than %d levels, one inside the other: nest less",
                       JSON_DEPTH);
    return !has_nul && !is_deep;
}

bool body_parse(struct exchange *exchange)
{
    if (!is_json_type(exchange->content_type)) {
        problem_simply(exchange, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                       "send the body as Content-Type: application/json, or use query parameters");
        return false;
    }
    if (!check_text(exchange))
        return false;
    json_error_t error;
    exchange->json =
        json_loadb(exchange->body.bytes, exchange->body.length, JSON_REJECT_DUPLICATES, &error);
    if (!exchange->json && json_error_code(&error) == json_error_numeric_overflow &&
        refuse_number_too_large(exchange))
        return false;
    if (!exchange->json) {
        problem_simply(exchange, PROBLEM_INVALID_JSON, "line %d, column %d: %s", error.line,
                       error.column, error.text);
        return false;
    }
    if (!json_is_object(exchange->json)) {
        problem_simply(exchange, PROBLEM_INVALID_JSON, "expected an object: {\"field\": value}");
        return false;
    }
    return true;
}
