#include "api/http/dump.h"

#include "api/http/json_text.h"
#include "base/decimal.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

/* json_dumps with JSON_COMPACT writes the same and takes four times as long: it looks for loops in
 * every object and array, and passes each piece of text through three functions. */

enum { ROOM = 512, REAL_LONGEST = 64 };

struct text {
    char *bytes;
    size_t length;
    size_t room;
};

/* Room for `length` more bytes. */
static char *dump_reserve(struct text *text, size_t length)
{
    if (text->room - text->length < length) {
        text->room = 2 * (text->length + length) + ROOM;
        text->bytes = memory_checked(realloc(text->bytes, text->room));
    }
    return text->bytes + text->length;
}

static void dump_put(struct text *text, const char *bytes, size_t length)
{
    memcpy(dump_reserve(text, length), bytes, length);
    text->length += length;
}

static void dump_put_char(struct text *text, char c)
{
    *dump_reserve(text, 1) = c;
    text->length++;
}

static void put_escape(struct text *text, unsigned char c)
{
    static const char SHORT[] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                 ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    static const char DIGITS[] = "0123456789ABCDEF";
    if (SHORT[c])
        dump_put(text, (const char[]){'\\', SHORT[c]}, 2);
    else
        dump_put(text, (const char[]){'\\', 'u', '0', '0', DIGITS[c >> 4], DIGITS[c & 0xf]}, 6);
}

static bool stands_for_itself(unsigned char c)
{
    return c >= ' ' && c != '"' && c != '\\';
}

static void put_string(struct text *text, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    dump_put_char(text, '"');
    while (bytes < end) {
        const char *begin = bytes;
        while (bytes < end && stands_for_itself((unsigned char)*bytes))
            bytes++;
        dump_put(text, begin, (size_t)(bytes - begin));
        if (bytes < end)
            put_escape(text, (unsigned char)*bytes++);
    }
    dump_put_char(text, '"');
}

/* Marks JSON that is written unchanged. Nothing else begins with a NUL: no client's text does. */
static const char VERBATIM[] = "\0JSON:";

enum { VERBATIM_LENGTH = sizeof VERBATIM - 1 };

static void put_text(struct text *text, const char *bytes, size_t length)
{
    if (length > VERBATIM_LENGTH && memcmp(bytes, VERBATIM, VERBATIM_LENGTH) == 0)
        dump_put(text, bytes + VERBATIM_LENGTH, length - VERBATIM_LENGTH);
    else
        put_string(text, bytes, length);
}

/* A control character could end the line or the text; compact JSON has none. */
static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.bytes[i] < ' ')
            return true;
    return false;
}

json_t *dump_verbatim(struct slice object)
{
    json_t *read = json_text_load(object, 0, NULL);
    bool is_object = json_is_object(read) && !has_control(object);
    json_decref(read);
    if (!is_object)
        return NULL;
    struct text text = {NULL, 0, 0};
    dump_put(&text, VERBATIM, VERBATIM_LENGTH);
    dump_put(&text, object.bytes, object.length);
    json_t *value = json_stringn_nocheck(text.bytes, text.length);
    free(text.bytes);
    return value;
}

static void put_real(struct text *text, const json_t *real)
{
    char *at = dump_reserve(text, REAL_LONGEST);
    text->length += json_dumpb(real, at, REAL_LONGEST, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* Making room may move the text, so it comes before any pointer into it. */
static void put_integer(struct text *text, int64_t number)
{
    char *at = dump_reserve(text, DECIMAL_LONGEST);
    text->length += (size_t)(decimal_put(at, number) - at);
}

static void put_value(struct text *text, const json_t *value);

static void put_object(struct text *text, json_t *object)
{
    char before = '{';
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        dump_put_char(text, before);
        put_string(text, key, strlen(key));
        dump_put_char(text, ':');
        put_value(text, json_object_iter_value(at));
        before = ',';
    }
    if (before == '{')
        dump_put_char(text, '{');
    dump_put_char(text, '}');
}

static void put_array(struct text *text, const json_t *array)
{
    dump_put_char(text, '[');
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i > 0)
            dump_put_char(text, ',');
        put_value(text, json_array_get(array, i));
    }
    dump_put_char(text, ']');
}

/* Recursion goes as deep as the document, in which at most 1 KiB comes from a client. */
static void put_value(struct text *text, const json_t *value) // NOLINT(misc-no-recursion)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_object(text, (json_t *)(uintptr_t)value);
        break;
    case JSON_ARRAY:
        put_array(text, value);
        break;
    case JSON_STRING:
        put_text(text, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        put_integer(text, json_integer_value(value));
        break;
    case JSON_REAL:
        put_real(text, value);
        break;
    case JSON_TRUE:
        dump_put(text, "true", 4);
        break;
    case JSON_FALSE:
        dump_put(text, "false", 5);
        break;
    case JSON_NULL:
        dump_put(text, "null", 4);
        break;
    }
}

/* People read it in terminals, so it ends with a newline. */
char *dump_line(json_t *document)
{
    struct text text = {NULL, 0, 0};
    put_value(&text, document);
    dump_put(&text, "\n", 2);
    json_decref(document);
    return text.bytes;
}
