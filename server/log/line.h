/* line.h: one line of the log under construction, as JSON or as logfmt. */
#ifndef BATON_SERVER_LOG_LINE_H
#define BATON_SERVER_LOG_LINE_H

#include "base/slice.h"

#include <stdint.h>

enum log_format { LOG_JSON, LOG_TEXT };

enum { LINE_LENGTH = 2048 }; /* its newline included */

/* Zero or more calls between line_begin and line_end. Texts may hold any bytes: what could end a
 * value or a line, or is invisible, is escaped, and what is no UTF-8 shows as U+FFFD. What does not
 * fit is cut, and a pair that there is no room for is left out. Needs no lock and no heap: also for
 * signal handlers.
 */
struct line {
    enum log_format format;
    size_t length;
    char text[LINE_LENGTH];
};

/* Writes the time it is now, the level and the message. */
void line_begin(struct line *line, enum log_format format, const char *level, const char *message);

/* Adds a pair. `name` is a constant word. */
void line_text(struct line *line, const char *name, struct slice text);

/* The same for a text that is known to need no escaping: a word of ours, or what was checked. */
void line_word(struct line *line, const char *name, struct slice word);

void line_number(struct line *line, const char *name, int64_t number);

void line_flag(struct line *line, const char *name, bool flag);

/* Microseconds, not negative, which are written as milliseconds: 1234 as 1.234. */
void line_ms(struct line *line, const char *name, int64_t us);

/* The newline: `text` is whole from here on. */
void line_end(struct line *line);

#endif
