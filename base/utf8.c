#include "base/utf8.h"

#include <stdint.h>

enum { C1_FIRST = 0x80, C1_LAST = 0x9f, BMP_LAST = 0xffff };

/* The well-formed sequences, as table 3-7 of the Unicode standard lists them, without C0 and DEL:
 * by first byte, how many bytes follow and in which range the second one is; the others are 80..BF.
 */
static const struct sequence {
    unsigned char first_low, first_high, following, second_low, second_high;
} SEQUENCES[] = {
    {0x20, 0x7e, 0, 0x00, 0x00}, {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/* Invisible characters: controls (C1), formats (Cf), separators of lines (Zl, Zp), and the
 * letters that are blank. In order. The page has the same in api/ui/text.js. */
static const struct range {
    uint32_t first, last;
} INVISIBLE[] = {
    {C1_FIRST, C1_LAST}, {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},      {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x115f, 0x1160},    {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f},  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe007f},
};

/* The length of the well-formed sequence at the start; 0: there is none. */
static size_t utf8_sequence_length(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof SEQUENCES / sizeof SEQUENCES[0]; i++) {
        const struct sequence *sequence = &SEQUENCES[i];
        if (bytes[0] < sequence->first_low || bytes[0] > sequence->first_high)
            continue;
        if (length <= sequence->following)
            return 0;
        if (sequence->following > 0 &&
            (bytes[1] < sequence->second_low || bytes[1] > sequence->second_high))
            return 0;
        for (size_t j = 2; j <= sequence->following; j++)
            if ((bytes[j] & 0xc0) != 0x80)
                return 0;
        return sequence->following + 1u;
    }
    return 0;
}

/* The code point of a well-formed sequence. */
static uint32_t utf8_point(const unsigned char *bytes, size_t length)
{
    uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3fu);
    return point;
}

static bool utf8_is_c1(const unsigned char *bytes)
{
    return bytes[0] == 0xc2 && bytes[1] <= C1_LAST;
}

bool utf8_is_clean(struct slice text)
{
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    for (size_t i = 0; i < text.length;) {
        size_t length = utf8_sequence_length(bytes + i, text.length - i);
        if (length == 0 || utf8_is_c1(bytes + i))
            return false;
        i += length;
    }
    return true;
}

static bool utf8_is_invisible(uint32_t point)
{
    for (size_t i = 0; i < sizeof INVISIBLE / sizeof *INVISIBLE; i++)
        if (point <= INVISIBLE[i].last)
            return point >= INVISIBLE[i].first;
    return false;
}

/* Four digits of UTF-16, as JSON escapes them. */
static char *utf8_put_unit(char *place, uint32_t unit)
{
    static const char DIGITS[] = "0123456789abcdef";
    *place++ = '\\';
    *place++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *place++ = DIGITS[unit >> shift & 0xf];
    return place;
}

static size_t utf8_put_escape(char *ret, uint32_t point)
{
    char *end = ret;
    if (point > BMP_LAST) {
        end = utf8_put_unit(end, 0xd800 + ((point - BMP_LAST - 1) >> 10));
        end = utf8_put_unit(end, 0xdc00 + (point & 0x3ff));
    } else {
        end = utf8_put_unit(end, point);
    }
    return (size_t)(end - ret);
}

size_t utf8_show(struct slice text, char ret[UTF8_SHOWN_LONGEST], size_t *ret_length)
{
    static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    size_t length = utf8_sequence_length(bytes, text.length);
    bool is_control = bytes[0] < ' ' || bytes[0] == 0x7f;
    if (is_control || (length > 1 && utf8_is_invisible(utf8_point(bytes, length)))) {
        length = is_control ? 1 : length;
        *ret_length = utf8_put_escape(ret, utf8_point(bytes, length));
        return length;
    }
    *ret_length = length ? length : sizeof REPLACEMENT - 1;
    memcpy(ret, length ? text.bytes : REPLACEMENT, *ret_length);
    return length ? length : 1;
}

static size_t utf8_ascii_length(struct slice text)
{
    size_t length = 0;
    while (length < text.length && text.bytes[length] >= ' ' && text.bytes[length] < 0x7f)
        length++;
    return length;
}

void utf8_show_all(struct slice text, char *ret, size_t size)
{
    char *at = ret, *const last = ret + size - 1;
    while (text.length > 0) {
        char shown[UTF8_SHOWN_LONGEST];
        size_t plain = utf8_ascii_length(text), length = plain, taken = plain;
        if (plain == 0)
            taken = utf8_show(text, shown, &length);
        else if (plain > (size_t)(last - at))
            length = (size_t)(last - at);
        if (length > (size_t)(last - at))
            break;
        at = mempcpy(at, plain ? text.bytes : shown, length);
        text = (struct slice){text.bytes + taken, text.length - taken};
    }
    *at = '\0';
}
