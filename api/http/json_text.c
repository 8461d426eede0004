#include "api/http/json_text.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Fits into the shortest number that is beyond a double, and stands for it: see JSON_TEXT_BEYOND.
 */
static const char BEYOND[] = "-1";

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

/* Overwrites the number between both if it is beyond a double. strtod(3) reads more than JSON has,
 * such as 0x1, so it is given the number alone. */
static void replace_beyond(char *number, char *end)
{
    size_t length = (size_t)(end - number);
    char behind = *end;
    *end = '\0';
    bool is_beyond = !isfinite(strtod(number, NULL));
    *end = behind;
    if (!is_beyond)
        return;
    memset(number, ' ', length);
    memcpy(number, BEYOND, sizeof BEYOND - 1);
}

/* Leaves text that is no JSON as it is: then jansson says so. */
static void replace_numbers(char *at)
{
    while (*at) {
        const char *end = *at == '-' || (*at >= '0' && *at <= '9') ? number_end(at) : NULL;
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            at += *at == '"';
        } else if (end) {
            replace_beyond(at, at + (end - at));
            at += end - at;
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            return;
        } else {
            at++;
        }
    }
}

json_t *json_text_load(struct slice text, size_t flags, json_error_t *error)
{
    json_error_t own = {0};
    json_error_t *told = error ? error : &own;
    json_t *value = json_loadb(text.bytes, text.length, flags, told);
    if (value || json_error_code(told) != json_error_numeric_overflow)
        return value;
    char *copy = memory_checked(malloc(text.length + 1));
    *(char *)mempcpy(copy, text.bytes, text.length) = '\0';
    replace_numbers(copy);
    value = json_loadb(copy, text.length, flags | JSON_DECODE_INT_AS_REAL, told);
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
