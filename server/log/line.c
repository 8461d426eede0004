#include "server/log/line.h"

#include "base/date.h"
#include "base/decimal.h"
#include "base/utf8.h"

#include <time.h>

enum {
    TEXT_END = UTF8_SHOWN_LONGEST + 4, /* an escape, a quote, and the line's end */
    PAIR_LEAST = TEXT_END + 12,        /* a pair's comma, colon and quotes, and TEXT_END */
    NUMBER_MOST = 24,
};

static size_t line_room(const struct line *line)
{
    return sizeof line->text - TEXT_END - line->length;
}

/* The caller knows that there is room. */
static void line_put(struct line *line, const char *bytes, size_t length)
{
    memcpy(line->text + line->length, bytes, length);
    line->length += length;
}

static void line_put_char(struct line *line, char c)
{
    line->text[line->length++] = c;
}

/* Counts the leading bytes that need no escape: printable ASCII without those that JSON escapes. */
static size_t line_plain_length(struct slice text)
{
    size_t i = 0;
    while (i < text.length && text.bytes[i] >= ' ' && text.bytes[i] < 0x7f &&
           text.bytes[i] != '"' && text.bytes[i] != '\\')
        i++;
    return i;
}

/* Escapes the first character. Returns how many bytes of the text it took. */
static size_t line_put_special(struct line *line, struct slice text)
{
    unsigned char c = (unsigned char)text.bytes[0];
    if (c == '"' || c == '\\') {
        line_put(line, (const char[]){'\\', (char)c}, 2);
        return 1;
    }
    size_t shown, taken = utf8_show(text, line->text + line->length, &shown);
    line->length += shown;
    return taken;
}

/* Writes `text` between quotes, as a JSON string; logfmt lines use the same quotes. */
static void line_put_quoted(struct line *line, struct slice text)
{
    line_put_char(line, '"');
    while (text.length > 0 && line->length < sizeof line->text - TEXT_END) {
        size_t length = line_plain_length(text);
        if (length > line_room(line))
            length = line_room(line);
        line_put(line, text.bytes, length);
        if (length == 0)
            length = line_put_special(line, text);
        text.bytes += length;
        text.length -= length;
    }
    line_put_char(line, '"');
}

/* Begins a pair, if its value of at least `least` bytes has room: half a pair would be no JSON. */
static bool line_put_name(struct line *line, struct slice name, size_t least)
{
    bool is_json = line->format == LOG_JSON, is_first = line->length <= is_json;
    if (line->length + name.length + least > sizeof line->text - PAIR_LEAST)
        return false;
    if (!is_first)
        line_put_char(line, is_json ? ',' : ' ');
    if (is_json)
        line_put_char(line, '"');
    line_put(line, name.bytes, name.length);
    if (is_json)
        line_put(line, "\":", 2);
    else
        line_put_char(line, '=');
    return true;
}

/* Pads with zeros. */
static void line_put_digits(struct line *line, uint64_t number, size_t digits)
{
    char *end = line->text + line->length + digits;
    line->length += digits;
    for (; digits > 0; digits--, number /= 10)
        *--end = (char)('0' + number % 10);
}

static void line_put_number(struct line *line, int64_t number)
{
    line->length = (size_t)(decimal_put(line->text + line->length, number) - line->text);
}

static void line_put_time(struct line *line)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    line_put_name(line, slice_of("time"), 0);
    line_put_char(line, '"');
    date_put(line->text + line->length, now.tv_sec, (unsigned)(now.tv_nsec / 1000000));
    line->length += DATE_TEXT;
    line_put_char(line, '"');
}

void line_begin(struct line *line, enum log_format format, const char *level, const char *message)
{
    line->format = format;
    line->length = 0;
    if (format == LOG_JSON)
        line_put_char(line, '{');
    line_put_time(line);
    line_word(line, "level", slice_of(level));
    line_text(line, "msg", slice_of(message));
}

void line_text(struct line *line, const char *name, struct slice text)
{
    if (line_put_name(line, slice_of(name), 0))
        line_put_quoted(line, text);
}

void line_word(struct line *line, const char *name, struct slice word)
{
    if (!line_put_name(line, slice_of(name), word.length))
        return;
    line_put_char(line, '"');
    line_put(line, word.bytes, word.length);
    line_put_char(line, '"');
}

void line_number(struct line *line, const char *name, int64_t number)
{
    if (line_put_name(line, slice_of(name), NUMBER_MOST))
        line_put_number(line, number);
}

void line_flag(struct line *line, const char *name, bool flag)
{
    struct slice word = slice_of(flag ? "true" : "false");
    if (line_put_name(line, slice_of(name), word.length))
        line_put(line, word.bytes, word.length);
}

void line_ms(struct line *line, const char *name, int64_t us)
{
    if (!line_put_name(line, slice_of(name), NUMBER_MOST))
        return;
    line_put_number(line, us / 1000);
    line_put_char(line, '.');
    line_put_digits(line, (uint64_t)(us % 1000), 3);
}

void line_end(struct line *line)
{
    if (line->format == LOG_JSON)
        line_put_char(line, '}');
    line_put_char(line, '\n');
}
