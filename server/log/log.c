#include "server/log/log.h"

#include "server/log/log_writer.h"

#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

enum { FINISH_MS = 2000 };

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

void log_detach(struct log *log)
{
    log->log_writer = log_writer_open(log->fd, log->format);
}

void log_finish(struct log *log)
{
    if (log->log_writer && !log_writer_close(log->log_writer, FINISH_MS))
        log->fd = -1; /* the descriptor is stuck */
    log->log_writer = NULL;
}

uint64_t log_lost(const struct log *log)
{
    return log->log_writer ? log_writer_lost(log->log_writer) : 0;
}

bool log_begin(const struct log *log, enum log_level level, const char *message, struct line *line)
{
    if (level < log->level)
        return false;
    line_begin(line, log->format, LEVELS[level], message);
    return true;
}

static void log_write_line(const struct log *log, const struct line *line)
{
    ssize_t written = write(log->fd, line->text, line->length);
    (void)written; /* a failure cannot be reported */
}

void log_end(const struct log *log, struct line *line)
{
    line_end(line);
    if (log->log_writer)
        log_writer_put(log->log_writer, line);
    else
        log_write_line(log, line);
}

/* As log_begin, with pairs of a name and a text, ended by NULL. */
static bool log_begin_pairs(const struct log *log, enum log_level level, const char *message,
                            va_list pairs, struct line *line)
{
    if (!log_begin(log, level, message, line))
        return false;
    for (const char *name = va_arg(pairs, const char *); name; name = va_arg(pairs, const char *))
        line_text(line, name, slice_of(va_arg(pairs, const char *)));
    return true;
}

void log_line(const struct log *log, enum log_level level, const char *message, ...)
{
    struct line line;
    va_list pairs;
    va_start(pairs, message);
    if (log_begin_pairs(log, level, message, pairs, &line))
        log_end(log, &line);
    va_end(pairs);
}

void log_last_words(const struct log *log, enum log_level level, const char *message, ...)
{
    struct line line;
    va_list pairs;
    va_start(pairs, message);
    bool is_begun = log_begin_pairs(log, level, message, pairs, &line);
    va_end(pairs);
    if (!is_begun)
        return;
    line_end(&line);
    if (poll(&(struct pollfd){.fd = log->fd, .events = POLLOUT}, 1, 0) == 1)
        log_write_line(log, &line);
}
