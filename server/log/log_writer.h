/* log_writer.h: writes lines to a descriptor by a thread of its own, so that nobody who has
 * something to say waits for whoever reads it. */
#ifndef BATON_SERVER_LOG_LOG_WRITER_H
#define BATON_SERVER_LOG_LOG_WRITER_H

#include "server/log/line.h"

#include <stdbool.h>

/* Lines go into a buffer of a fixed size and from there to the descriptor, in their order, many at
 * a time. Where the buffer is full because the reader is slow or gone, and where the descriptor
 * takes none (a full disk, a pipe without a reader), lines are lost and counted; at the place of
 * those that were lost there is a line that says how many, as soon as one can be written. The
 * descriptor is used as it is: its flags belong to others, too. */
struct log_writer;

enum { LOG_WRITER_BUFFER = 1 << 20 }; /* bytes that wait, while as many are being written */

/* Starts the thread. Returns NULL where it cannot be started. */
struct log_writer *log_writer_open(int fd, enum log_format format);

/* Takes a whole line, which is copied. From any thread; never waits for the descriptor, and makes
 * no more than one call of the system, to wake the thread. */
void log_writer_put(struct log_writer *log_writer, const struct line *line);

/* Lines that were lost so far. From any thread. */
uint64_t log_writer_lost(const struct log_writer *log_writer);

/* Writes what there is, for `timeout_ms` at most. False where that did not do: then the thread goes
 * on trying until the process ends. In either case the log writer is not to be used any more. */
bool log_writer_close(struct log_writer *log_writer, int timeout_ms);

#endif
