/* log.h: lines on stderr for operators: what happened, and what to do about it. */
#ifndef BATON_SERVER_LOG_LOG_H
#define BATON_SERVER_LOG_LOG_H

#include "server/log/line.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_writer;

/* Constant while there is more than one thread; any thread may log. */
struct log {
    int fd;
    enum log_format format;
    enum log_level level; /* lines below it are left out */
    bool access, audit;   /* for journal.h */
    struct log_writer
        *log_writer; /* NULL: each thread writes its own lines, and waits for the reader */
};

/* Starts the log writer, so that no thread waits for the reader of the log. If that fails, threads
 * go on writing their own lines. */
void log_detach(struct log *log);

/* Writes the lines that are left, for two seconds at most. Later lines may be lost. */
void log_finish(struct log *log);

/* Returns how many lines were lost: not read in time, or not written. */
uint64_t log_lost(const struct log *log);

/* Logs one line: time, level, message, then pairs of a name and a text, ended by NULL:
 * log_line(log, LOG_INFO, "listening", "url", url, NULL). Never a secret. */
void log_line(const struct log *log, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

/* The same for a signal handler of a dying process: overtakes the lines that wait, and writes only
 * if the descriptor takes it at once. */
void log_last_words(const struct log *log, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

/* For lines with numbers: log_begin, pairs as in line.h, log_end. If the level leaves the line out,
 * log_begin returns false; then do not call log_end. */
bool log_begin(const struct log *log, enum log_level level, const char *message, struct line *line);
void log_end(const struct log *log, struct line *line);

#endif
