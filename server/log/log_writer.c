#include "server/log/log_writer.h"

#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Lines come in bursts. Gathering them makes one write(2) of many. */
    GATHER_MS = 5,
    /* While lines come, the thread polls for them, since waking it would cost the logging thread
     * more than the line does. After this many polls without a line it sleeps. */
    QUIET_LOOKS = 40,
    GATHERED = LOG_WRITER_BUFFER / 2, /* enough to write at once */
};

/* Lines, and behind them a gap. */
struct batch {
    uint64_t lost; /* lines without room. After the first, every further line is lost, to keep the
                    * order */
    size_t length;
    char text[LOG_WRITER_BUFFER];
};

struct log_writer {
    int fd;
    enum log_format format;
    size_t piece; /* how much to write at once */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t news;  /* for the thread: lines have come, or it must end */
    pthread_cond_t ended; /* for log_writer_close */
    bool sleeps;          /* until it is woken */
    bool closing, has_ended, is_abandoned;
    struct batch *filling; /* the other threads write here */
    atomic_uint_fast64_t lost;
    /* The thread's own. */
    struct batch *writing;
    uint64_t unsaid; /* lost lines not yet reported in the log */
    int error;       /* errno of the last write; 0: it succeeded */
    bool torn;       /* the last line was written in part */
};

static void log_writer_lose(struct log_writer *log_writer, uint64_t *number, uint64_t lines)
{
    *number += lines;
    atomic_fetch_add_explicit(&log_writer->lost, lines, memory_order_relaxed);
}

void log_writer_put(struct log_writer *log_writer, const struct line *line)
{
    pthread_mutex_lock(&log_writer->mutex);
    struct batch *batch = log_writer->filling;
    size_t before = batch->length;
    if (batch->lost > 0 || line->length > sizeof batch->text - before) {
        log_writer_lose(log_writer, &batch->lost, 1);
    } else {
        memcpy(batch->text + before, line->text, line->length);
        batch->length += line->length;
    }
    bool is_news = log_writer->sleeps || (before < GATHERED && batch->length >= GATHERED);
    pthread_mutex_unlock(&log_writer->mutex);
    if (is_news)
        pthread_cond_signal(&log_writer->news);
}

uint64_t log_writer_lost(const struct log_writer *log_writer)
{
    return atomic_load_explicit(&log_writer->lost, memory_order_relaxed);
}

static struct timespec in_ms(int ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += ms % 1000 * 1000000L;
    time.tv_sec += ms / 1000 + time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Sleeps until another thread wakes this one. */
static void log_writer_sleep(struct log_writer *log_writer)
{
    log_writer->sleeps = true;
    while (log_writer->filling->length == 0 && !log_writer->closing)
        pthread_cond_wait(&log_writer->news, &log_writer->mutex);
    log_writer->sleeps = false;
}

static void log_writer_gather(struct log_writer *log_writer)
{
    struct timespec until = in_ms(GATHER_MS);
    while (log_writer->filling->length < GATHERED && !log_writer->closing &&
           pthread_cond_timedwait(&log_writer->news, &log_writer->mutex, &until) == 0)
        ;
}

/* Waits for lines, gathers more for GATHER_MS, and takes them over. Returns false at the end, when
 * no lines are left. */
static bool log_writer_take(struct log_writer *log_writer)
{
    struct batch *empty = log_writer->writing;
    pthread_mutex_lock(&log_writer->mutex);
    int looks = 0;
    do {
        if (looks++ == QUIET_LOOKS)
            log_writer_sleep(log_writer);
        log_writer_gather(log_writer);
    } while (log_writer->filling->length == 0 && !log_writer->closing);
    log_writer->writing = log_writer->filling;
    log_writer->filling = empty;
    pthread_mutex_unlock(&log_writer->mutex);
    return log_writer->writing->length > 0;
}

/* As write(2), but waits even if another process has made the descriptor non-blocking. */
static ssize_t log_writer_write_some(int fd, const char *bytes, size_t length)
{
    for (;;) {
        ssize_t written = write(fd, bytes, length);
        if (written >= 0 || (errno != EINTR && errno != EAGAIN))
            return written;
        if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    }
}

/* Returns the bytes written: fewer than `length` if the descriptor takes no more. */
static size_t log_writer_write_all(struct log_writer *log_writer, const char *bytes, size_t length)
{
    size_t written = 0;
    while (written < length) {
        ssize_t more = log_writer_write_some(log_writer->fd, bytes + written, length - written);
        if (more <= 0) {
            log_writer->error = more < 0 ? errno : EIO;
            break;
        }
        written += (size_t)more;
    }
    if (written > 0)
        log_writer->torn = bytes[written - 1] != '\n';
    return written;
}

static uint64_t lines_in(const char *text, size_t length)
{
    uint64_t lines = 0;
    for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* Returns how many bytes to write at once: whole lines. */
static size_t log_writer_piece(const struct log_writer *log_writer, const char *text, size_t length)
{
    if (length <= log_writer->piece)
        return length;
    const char *last = memrchr(text, '\n', log_writer->piece);
    return (size_t)(last - text) + 1;
}

/* Returns as above. */
static size_t log_writer_write_lines(struct log_writer *log_writer, const char *text, size_t length)
{
    size_t done = 0, piece = 0, written = 0;
    for (; done < length && written == piece; done += written) {
        piece = log_writer_piece(log_writer, text + done, length - done);
        written = log_writer_write_all(log_writer, text + done, piece);
    }
    return done;
}

/* Writes the line that says how many lines were lost, if any. Returns false on failure. */
static bool log_writer_report_lost(struct log_writer *log_writer)
{
    struct line line;
    if (log_writer->unsaid == 0)
        return true;
    if (log_writer->torn && log_writer_write_all(log_writer, "\n", 1) < 1)
        return false;
    line_begin(
        &line, log_writer->format, "warn",
        "lines of this log are missing here: its reader is too slow, or batond cannot write to it");
    line_number(&line, "lines", (int64_t)log_writer->unsaid);
    if (log_writer->error)
        line_text(&line, "reason", slice_of(strerrordesc_np(log_writer->error)));
    line_end(&line);
    if (log_writer_write_all(log_writer, line.text, line.length) < line.length)
        return false;
    log_writer->unsaid = 0;
    log_writer->error = 0;
    return true;
}

/* Lines that cannot be written are lost, so that later ones have room. */
static void log_writer_write_batch(struct log_writer *log_writer)
{
    struct batch *batch = log_writer->writing;
    size_t done = log_writer_report_lost(log_writer)
                      ? log_writer_write_lines(log_writer, batch->text, batch->length)
                      : 0;
    log_writer_lose(log_writer, &log_writer->unsaid,
                    lines_in(batch->text + done, batch->length - done));
    log_writer->unsaid += batch->lost;
    if (done == batch->length)
        log_writer_report_lost(log_writer);
    batch->length = 0;
    batch->lost = 0;
}

static void log_writer_free(struct log_writer *log_writer)
{
    pthread_mutex_destroy(&log_writer->mutex);
    pthread_cond_destroy(&log_writer->news);
    pthread_cond_destroy(&log_writer->ended);
    free(log_writer->filling);
    free(log_writer->writing);
    free(log_writer);
}

static void *log_writer_run(void *context)
{
    struct log_writer *log_writer = context;
    while (log_writer_take(log_writer))
        log_writer_write_batch(log_writer);
    pthread_mutex_lock(&log_writer->mutex);
    log_writer->has_ended = true;
    bool is_abandoned = log_writer->is_abandoned;
    pthread_cond_signal(&log_writer->ended);
    pthread_mutex_unlock(&log_writer->mutex);
    if (is_abandoned)
        log_writer_free(log_writer);
    return NULL;
}

/* Another process may write into the same pipe; only writes up to PIPE_BUF are not mixed with its.
 */
static size_t log_writer_piece_for(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) ? PIPE_BUF : LOG_WRITER_BUFFER;
}

static void log_writer_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The main thread handles signals, so this one blocks them. */
static int log_writer_start(struct log_writer *log_writer)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&log_writer->thread, NULL, log_writer_run, log_writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

struct log_writer *log_writer_open(int fd, enum log_format format)
{
    struct log_writer *log_writer = memory_checked(calloc(1, sizeof *log_writer));
    log_writer->fd = fd;
    log_writer->format = format;
    log_writer->piece = log_writer_piece_for(fd);
    log_writer->filling = memory_checked(calloc(1, sizeof *log_writer->filling));
    log_writer->writing = memory_checked(calloc(1, sizeof *log_writer->writing));
    pthread_mutex_init(&log_writer->mutex, NULL);
    log_writer_init_condition(&log_writer->news);
    log_writer_init_condition(&log_writer->ended);
    if (log_writer_start(log_writer) == 0)
        return log_writer;
    log_writer_free(log_writer);
    return NULL;
}

bool log_writer_close(struct log_writer *log_writer, int timeout_ms)
{
    struct timespec until = in_ms(timeout_ms);
    int result = 0;
    pthread_mutex_lock(&log_writer->mutex);
    log_writer->closing = true;
    pthread_cond_signal(&log_writer->news);
    while (!log_writer->has_ended && result == 0)
        result = pthread_cond_timedwait(&log_writer->ended, &log_writer->mutex, &until);
    bool has_ended = log_writer->has_ended;
    log_writer->is_abandoned = !has_ended;
    if (!has_ended)
        pthread_detach(log_writer->thread);
    pthread_mutex_unlock(&log_writer->mutex);
    if (has_ended) {
        pthread_join(log_writer->thread, NULL);
        log_writer_free(log_writer);
    }
    return has_ended;
}
