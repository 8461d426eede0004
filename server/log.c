#include "server/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_LENGTH = 2048,
    QUOTED_END = 12, /* an escape, a quote, and the line's end */
    PAIR_LEAST = 24, /* a pair's comma, colon and quotes, and QUOTED_END */
};

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD, for a byte that is no UTF-8 */

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

/* A line under construction; what does not fit is cut. */
struct line {
    char text[LINE_LENGTH];
    size_t length;
};

static void put(struct line *line, const char *text)
{
    size_t length = strlen(text), room = sizeof line->text - 3 - line->length; /* "}\n" and a NUL */
    if (length > room)
        length = room;
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

/* How long the clean UTF-8 sequence at the start is; 0 where there is none. */
static size_t sequence_length(const char *text)
{
    size_t left = strnlen(text, 4);
    for (size_t length = 1; length <= left; length++)
        if (utf8_is_clean((struct slice){text, length}))
            return length;
    return 0;
}

/* Writes `text` between quotes, as a JSON string; text lines quote likewise. */
static void put_quoted(struct line *line, const char *text)
{
    put(line, "\"");
    while (*text && line->length < sizeof line->text - QUOTED_END) {
        char escaped[8];
        size_t length = sequence_length(text);
        if (*text == '"' || *text == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", *text);
        else if ((unsigned char)*text < ' ' || *text == 0x7f)
            snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*text);
        else if (length > 0)
            snprintf(escaped, sizeof escaped, "%.*s", (int)length, text);
        else
            snprintf(escaped, sizeof escaped, "%s", REPLACEMENT);
        put(line, escaped);
        text += length ? length : 1;
    }
    put(line, "\"");
}

/* A pair that the line has no room to begin is left out, as half of it would be no JSON. */
static void put_pair(struct line *line, enum log_format format, const char *name, const char *text)
{
    if (line->length + strlen(name) > sizeof line->text - PAIR_LEAST)
        return;
    if (format == LOG_JSON) {
        put(line, line->length > 1 ? "," : "");
        put_quoted(line, name);
        put(line, ":");
        put_quoted(line, text);
    } else {
        put(line, line->length > 0 ? " " : "");
        put(line, name);
        put(line, "=");
        put_quoted(line, text);
    }
}

static void put_time(struct line *line, enum log_format format)
{
    struct timespec now;
    struct tm parts;
    char seconds[32], text[48];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    put_pair(line, format, "time", text);
}

void log_line(const struct log *log, enum log_level level, const char *message, ...)
{
    if (level < log->level)
        return;
    struct line line = {.length = 0};
    put(&line, log->format == LOG_JSON ? "{" : "");
    put_time(&line, log->format);
    put_pair(&line, log->format, "level", LEVELS[level]);
    put_pair(&line, log->format, "msg", message);

    va_list pairs;
    va_start(pairs, message);
    for (const char *name = va_arg(pairs, const char *); name; name = va_arg(pairs, const char *))
        put_pair(&line, log->format, name, va_arg(pairs, const char *));
    va_end(pairs);

    const char *end = log->format == LOG_JSON ? "}\n" : "\n";
    memcpy(line.text + line.length, end, strlen(end));
    line.length += strlen(end);
    ssize_t written = write(log->fd, line.text, line.length);
    (void)written; /* there is nobody left to tell */
}
