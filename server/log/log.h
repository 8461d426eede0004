/* log.h: lines on stderr for whoever operates batond: what happened, and what to do about it. */
#ifndef BATON_SERVER_LOG_LOG_H
#define BATON_SERVER_LOG_LOG_H

#include "server/log/line.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_writer;

/* Not changed while there is more than one thread; may be used from any. */
struct log {
    int fd;
    enum log_format format;
    enum log_level level; /* lines below it are left out */
    bool access, audit;   /* for journal.h */
    struct log_writer
        *log_writer; /* NULL: whoever logs writes the line, and waits for its reader */
};

/* From now on nobody who logs waits for who reads. Where that is not possible, all stays as it is.
 */
void log_detach(struct log *log);

/* Writes what there is yet, for a second or two at most. What is logged after that is lost. */
void log_finish(struct log *log);

/* Lines that were lost so far, because they were not read or could not be written. */
uint64_t log_lost(const struct log *log);

/* Logs one line: time, level, message, then pairs of a name and a text, ended by NULL:
 * log_line(log, LOG_INFO, "listening", "url", url, NULL). Never a secret. */
void log_line(const struct log *log, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

/* The same for a process that is about to die, from a signal handler: past those that wait, and
 * only if it can be written at once. */
void log_last_words(const struct log *log, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

/* For lines with numbers: log_begin, any of line.h's pairs, log_end. False where the level leaves
 * the line out: then there is nothing to end. */
bool log_begin(const struct log *log, enum log_level level, const char *message, struct line *line);
void log_end(const struct log *log, struct line *line);

#endif
