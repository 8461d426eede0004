/* slice.h: bytes that another object owns, with their length; may hold NUL. */
#ifndef BATON_BASE_SLICE_H
#define BATON_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *bytes; /* NULL only when length is 0 and the value is absent */
    size_t length;
};

/* A slice over a C string; NULL gives an absent slice. The string must outlive it. */
static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_equals(struct slice slice, const char *text)
{
    size_t length = strlen(text);
    return slice.length == length && (length == 0 || memcmp(slice.bytes, text, length) == 0);
}

/* Whether both have the same bytes. */
static inline bool slice_same(struct slice one, struct slice other)
{
    return one.length == other.length &&
           (one.length == 0 || memcmp(one.bytes, other.bytes, one.length) == 0);
}

/* Whether both are the same but for the case of ASCII letters. */
static inline bool slice_alike(struct slice one, struct slice other)
{
    return one.length == other.length &&
           (one.length == 0 || strncasecmp(one.bytes, other.bytes, one.length) == 0);
}

/* Skips the byte order mark (UTF-8) that editors of Windows put in front of a text. */
static inline struct slice slice_skip_mark(struct slice text)
{
    static const char MARK[] = {'\xEF', '\xBB', '\xBF'};
    size_t skipped =
        text.length >= sizeof MARK && memcmp(text.bytes, MARK, sizeof MARK) == 0 ? sizeof MARK : 0;
    return (struct slice){text.bytes + skipped, text.length - skipped};
}

/* A value as meant: without a byte order mark, and without line breaks at its end. */
static inline struct slice slice_of_value(struct slice text)
{
    text = slice_skip_mark(text);
    while (text.length > 0 && memchr("\r\n", text.bytes[text.length - 1], 2))
        text.length--;
    return text;
}

/* Takes the text up to the next space off the front of `rest`, and the space. */
static inline struct slice slice_take_word(struct slice *rest)
{
    const char *space = rest->length > 0 ? memchr(rest->bytes, ' ', rest->length) : NULL;
    struct slice word = {rest->bytes, space ? (size_t)(space - rest->bytes) : rest->length};
    size_t taken = word.length + (space ? 1 : 0);
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return word;
}

#endif
