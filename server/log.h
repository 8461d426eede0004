/* log.h: lines on stderr for whoever operates batond: what happened, and what to do about it. */
#ifndef BATON_SERVER_LOG_H
#define BATON_SERVER_LOG_H

enum log_format { LOG_JSON, LOG_TEXT };
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Never changed after the start; may be used from any thread. */
struct log {
    int fd;
    enum log_format format;
    enum log_level level; /* lines below it are left out */
};

/* Writes one line, in one write(2): time, level, message, then pairs of a name and a text, ended by
 * NULL: log_line(log, LOG_INFO, "listening", "url", url, NULL). Never a secret. */
void log_line(const struct log *log, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

#endif
