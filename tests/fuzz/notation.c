#include "tests/fuzz/notation.h"

#include "locks/types/packed.h"

#include <ctype.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdlib.h>

enum { DEPTH = 8, ELEMENTS = 80 };

static redisReply *reply_new(int type)
{
    redisReply *reply = calloc(1, sizeof *reply);
    if (!reply)
        abort();
    reply->type = type;
    return reply;
}

/* With a NUL behind it, as from hiredis. */
static redisReply *reply_text(int type, const char *bytes, size_t length)
{
    redisReply *reply = reply_new(type);
    reply->str = malloc(length + 1);
    if (!reply->str)
        abort();
    if (length > 0)
        memcpy(reply->str, bytes, length);
    reply->str[length] = '\0';
    reply->len = length;
    return reply;
}

static char take(struct slice *text)
{
    text->length--;
    return *text->bytes++;
}

static bool begins(const struct slice *text, char c)
{
    return text->length > 0 && text->bytes[0] == c;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

static redisReply *read_quoted(struct slice *text)
{
    char *bytes = malloc(text->length);
    size_t length = 0;
    if (!bytes)
        abort();
    take(text);
    while (text->length > 0 && !begins(text, '"')) {
        char c = take(text);
        if (c == '\\' && text->length >= 2 && isxdigit((unsigned char)text->bytes[0]) &&
            isxdigit((unsigned char)text->bytes[1])) {
            c = (char)(hex_digit(text->bytes[0]) << 4 | hex_digit(text->bytes[1]));
            take(text);
            take(text);
        }
        bytes[length++] = c;
    }
    if (text->length > 0)
        take(text);
    redisReply *reply = reply_text(REDIS_REPLY_STRING, bytes, length);
    free(bytes);
    return reply;
}

static bool is_integer(struct slice word)
{
    size_t i = word.bytes[0] == '-' ? 1 : 0;
    if (i == word.length || word.length > 20)
        return false;
    while (i < word.length && isdigit((unsigned char)word.bytes[i]))
        i++;
    return i == word.length;
}

static redisReply *read_word(struct slice *text)
{
    struct slice word = {text->bytes, 0};
    while (text->length > 0 && !strchr(" ()[]\"", text->bytes[0]))
        take(text);
    word.length = (size_t)(text->bytes - word.bytes);
    if (word.length == 0)
        take(text); /* a bracket too many */
    if (slice_equals(word, "nil") || word.length == 0)
        return reply_new(REDIS_REPLY_NIL);
    redisReply *reply = reply_text(REDIS_REPLY_STRING, word.bytes, word.length);
    if (!is_integer(word))
        return reply;
    reply->type = REDIS_REPLY_INTEGER;
    reply->integer = strtoll(reply->str, NULL, 10);
    free(reply->str);
    reply->str = NULL;
    reply->len = 0;
    return reply;
}

static redisReply *read_value(struct slice *text, int depth);

static redisReply *read_list(struct slice *text, int depth)
{
    redisReply *list = reply_new(REDIS_REPLY_ARRAY);
    list->element = calloc(ELEMENTS, sizeof(redisReply *));
    if (!list->element)
        abort();
    take(text);
    while (text->length > 0 && !begins(text, ')') && list->elements < ELEMENTS) {
        if (begins(text, ' '))
            take(text);
        else
            list->element[list->elements++] = read_value(text, depth + 1);
    }
    if (begins(text, ')'))
        take(text);
    /* No longer than it is, so that a read behind its end is found. */
    list->element =
        reallocarray(list->element, list->elements ? list->elements : 1, sizeof(redisReply *));
    if (!list->element)
        abort();
    return list;
}

/* Puts a packed value to `end`. A value takes no more bytes than PACKED_NUMBER and those of its
 * text. */
static char *pack_value(char *end, const redisReply *value)
{
    if (value->type == REDIS_REPLY_INTEGER)
        return packed_put(end, (double)value->integer);
    if (value->len > 0)
        end = mempcpy(end, value->str, value->len);
    *end++ = '\0';
    return end;
}

static redisReply *read_packed(struct slice *text)
{
    char *bytes = malloc(PACKED_NUMBER * text->length), *end = bytes;
    if (!bytes)
        abort();
    take(text);
    while (text->length > 0 && !begins(text, ']')) {
        if (begins(text, ' ')) {
            take(text);
            continue;
        }
        redisReply *value = begins(text, '"') ? read_quoted(text) : read_word(text);
        end = pack_value(end, value);
        freeReplyObject(value);
    }
    if (text->length > 0)
        take(text);
    redisReply *reply = reply_text(REDIS_REPLY_STRING, bytes, (size_t)(end - bytes));
    free(bytes);
    return reply;
}

static redisReply *read_value(struct slice *text, int depth)
{
    if (begins(text, '['))
        return read_packed(text);
    if (begins(text, '(') && depth < DEPTH)
        return read_list(text, depth);
    return begins(text, '"') ? read_quoted(text) : read_word(text);
}

redisReply *notation_read(struct slice text)
{
    while (begins(&text, ' '))
        take(&text);
    if (text.length == 0)
        return reply_new(REDIS_REPLY_NIL);
    if (text.length > 1 && begins(&text, '-') && isalpha((unsigned char)text.bytes[1]))
        return reply_text(REDIS_REPLY_ERROR, text.bytes + 1, text.length - 1);
    return read_value(&text, 0);
}
