/* log_writer.h: writes lines to a descriptor on a thread of its own, so that no thread that logs
 * waits for the reader. */
#ifndef BATON_SERVER_LOG_LOG_WRITER_H
#define BATON_SERVER_LOG_LOG_WRITER_H

#include "server/log/line.h"

#include <stdbool.h>

/* Lines go through a buffer of a fixed size to the descriptor, in order, many at a time. If the
 * buffer is full because the reader is slow or gone, or if the descriptor takes none (a full disk,
 * a pipe without a reader), lines are lost and counted. As soon as possible, a line in their place
 * says how many. The descriptor's flags stay as they are: other processes share them. */
struct log_writer;

enum { LOG_WRITER_BUFFER = 1 << 20 }; /* bytes that wait; as many again are being written */

/* Starts the thread. Returns NULL on failure. */
struct log_writer *log_writer_open(int fd, enum log_format format);

/* Copies a complete line. From any thread; never waits for the descriptor, and makes at most one
 * system call, to wake the thread. */
void log_writer_put(struct log_writer *log_writer, const struct line *line);

/* Returns how many lines were lost. From any thread. */
uint64_t log_writer_lost(const struct log_writer *log_writer);

/* Writes the lines that are left, for `timeout_ms` at most. Returns false if time ran out; then the
 * thread goes on until the process ends. Do not use the log writer after this. */
bool log_writer_close(struct log_writer *log_writer, int timeout_ms);

#endif
