#include "api/http/json_text.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Each fits into the shortest number that it stands for: one beyond a double (see
 * JSON_TEXT_BEYOND), and one with a fraction that a double does not keep, such as 1e-400. */
static const char BEYOND[] = "-1", FRACTION[] = "0.5";

#define INTEGER_HIGHEST INT64_C(9007199254740992)

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The end of the number that begins here, by the grammar of RFC 8259; NULL if none does. */
static const char *number_end(const char *at)
{
    const char *digits = at + (*at == '-'), *end = skip_digits(digits), *part;
    if (end == digits || (*digits == '0' && end > digits + 1))
        return NULL;
    if (*end == '.') {
        part = end + 1;
        end = skip_digits(part);
        if (end == part)
            return NULL;
    }
    if (*end != 'e' && *end != 'E')
        return end;
    part = end + 1 + (end[1] == '+' || end[1] == '-');
    end = skip_digits(part);
    return end == part ? NULL : end;
}

/* Whether the digits of the number, shifted by its exponent, end before the point. */
static bool is_whole(const char *number)
{
    size_t length = strcspn(number, "eE"), last = length;
    const char *point = memchr(number, '.', length);
    size_t before = point ? (size_t)(point - number) : length;
    while (last > 0 && !(number[last - 1] >= '1' && number[last - 1] <= '9'))
        last--;
    long exponent = number[length] ? strtol(number + length + 1, NULL, 10) : 0;
    long shift = (long)before - (long)last + (last > before); /* of the last digit but zeros */
    return last == 0 || exponent >= -shift;
}

static const char *stand_in_for(const char *number)
{
    double real = strtod(number, NULL);
    if (!isfinite(real))
        return BEYOND;
    return trunc(real) == real && !is_whole(number) ? FRACTION : NULL;
}

/* Overwrites the number between both if a double is another. strtod(3) reads more than JSON has,
 * such as 0x1, so it is given the number alone. */
static bool replace_number(char *number, char *end)
{
    char behind = *end;
    *end = '\0';
    const char *stand_in = stand_in_for(number);
    *end = behind;
    if (!stand_in)
        return false;
    memset(number, ' ', (size_t)(end - number));
    memcpy(number, stand_in, strlen(stand_in));
    return true;
}

/* Leaves text that is no JSON as it is: then jansson says so. Returns whether it changed a number.
 */
static bool replace_numbers(char *at)
{
    bool has_replaced = false;
    while (*at) {
        const char *end = *at == '-' || (*at >= '0' && *at <= '9') ? number_end(at) : NULL;
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            at += *at == '"';
        } else if (end) {
            has_replaced |= replace_number(at, at + (end - at));
            at += end - at;
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            break;
        } else {
            at++;
        }
    }
    return has_replaced;
}

/* Most texts have no number with a fraction or an exponent. */
static bool may_have_fraction(struct slice text)
{
    for (size_t i = 1; i < text.length; i++)
        if ((text.bytes[i] == '.' || text.bytes[i] == 'e' || text.bytes[i] == 'E') &&
            text.bytes[i - 1] >= '0' && text.bytes[i - 1] <= '9')
            return true;
    return false;
}

json_t *json_text_load(struct slice text, size_t flags, json_error_t *error)
{
    json_error_t own = {0};
    json_error_t *report = error ? error : &own;
    json_t *value = json_loadb(text.bytes, text.length, flags, report);
    bool is_beyond = !value && json_error_code(report) == json_error_numeric_overflow;
    if (!is_beyond && (!value || !may_have_fraction(text)))
        return value;
    char *copy = memory_checked(malloc(text.length + 1));
    *(char *)mempcpy(copy, text.bytes, text.length) = '\0';
    if (replace_numbers(copy) || is_beyond) {
        json_decref(value);
        value = json_loadb(copy, text.length, is_beyond ? flags | JSON_DECODE_INT_AS_REAL : flags,
                           report);
    }
    free(copy);
    return value;
}

bool json_text_integer(const json_t *value, int64_t *ret)
{
    double real = json_number_value(value);
    if (!json_is_number(value) || fabs(real) > (double)INTEGER_HIGHEST || trunc(real) != real)
        return false;
    *ret = json_is_integer(value) ? json_integer_value(value) : (int64_t)real;
    return true;
}

bool json_text_is_deep(struct slice text)
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
    return deepest > JSON_TEXT_DEPTH;
}

/* The closing quote of the string that begins here. */
static const char *string_end(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at;
}

/* The end of the value around this place: its comma, or the bracket around it. */
static const char *value_end(const char *at)
{
    for (int depth = 0;; at++) {
        if (*at == '"')
            at = string_end(at);
        else if (*at == '{' || *at == '[')
            depth++;
        else if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
            return at;
        else if (*at == '}' || *at == ']')
            depth--;
    }
}

/* Jansson keeps the order of members, and refuses a repeated key. */
struct slice json_text_member(struct slice text, json_t *object, const char *key)
{
    const char *at = (const char *)rawmemchr(text.bytes, '{') + 1;
    const char *next;
    json_t *value;
    json_object_foreach (object, next, value) {
        at = (const char *)rawmemchr(string_end(rawmemchr(at, '"')), ':') + 1;
        const char *end = value_end(at);
        if (strcmp(next, key) == 0)
            return (struct slice){at, (size_t)(end - at)};
        at = end + 1;
    }
    abort(); /* the key is a member's */
}

char *json_text_compact(struct slice text)
{
    const char *at = text.bytes, *const end = text.bytes + text.length;
    char *compact = memory_checked(malloc(text.length + 1)), *to = compact;
    while (at < end) {
        const char *piece = at;
        if (strchr(" \t\n\r", *at)) {
            at++;
            continue;
        }
        at = *at == '"' ? string_end(at) + 1 : at + 1;
        to = mempcpy(to, piece, (size_t)(at - piece));
    }
    *to = '\0';
    return compact;
}
