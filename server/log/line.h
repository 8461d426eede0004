/* line.h: builds one line of the log, as JSON or as logfmt. */
#ifndef BATON_SERVER_LOG_LINE_H
#define BATON_SERVER_LOG_LINE_H

#include "base/slice.h"

#include <stdint.h>

enum log_format { LOG_JSON, LOG_TEXT };

enum { LINE_LENGTH = 2048 }; /* its newline included */

/* Call line_begin, then line_text and the like, then line_end. Texts may hold any bytes: quotes and
 * invisible characters are escaped, and bytes that are no UTF-8 show as U+FFFD. A long text is cut,
 * and a pair without room is left out. Uses no lock and no heap, so that signal handlers can call
 * it. */
struct line {
    enum log_format format;
    size_t length;
    char text[LINE_LENGTH];
};

/* Writes the wall clock's time, the level and the message. */
void line_begin(struct line *line, enum log_format format, const char *level, const char *message);

/* Adds a pair. `name` is a constant word. */
void line_text(struct line *line, const char *name, struct slice text);

/* The same for a text that needs no escaping: a word of ours, or a checked one. */
void line_word(struct line *line, const char *name, struct slice word);

void line_number(struct line *line, const char *name, int64_t number);

void line_flag(struct line *line, const char *name, bool flag);

/* Writes microseconds, which must not be negative, as milliseconds: 1234 as 1.234. */
void line_ms(struct line *line, const char *name, int64_t us);

/* Ends the line with a newline; `text` is complete from here on. */
void line_end(struct line *line);

#endif
