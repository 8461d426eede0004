#include "server/log/scribe.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Lines come in bursts. To gather them for so long makes one call of write(2) of many. */
    GATHER_MS = 5,
    /* As long as lines come, the thread looks for them by itself, since to wake it would cost those
     * who log more than the line does. After so many looks in vain it sleeps. */
    QUIET_LOOKS = 40,
    GATHERED = SCRIBE_BUFFER / 2, /* enough to write at once */
};

/* Lines that have come, and behind them a gap. */
struct batch {
    uint64_t lost; /* that had no room: none has once one had not, so that they are the last */
    size_t length;
    char text[SCRIBE_BUFFER];
};

struct scribe {
    int fd;
    enum log_format format;
    size_t piece; /* how much to write at once */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t news;  /* for the thread: lines have come, or it is to end */
    pthread_cond_t ended; /* for scribe_close */
    bool sleeps;          /* until it is woken */
    bool closing, has_ended, is_abandoned;
    struct batch *filling; /* what the others write to */
    atomic_uint_fast64_t lost;
    /* The thread's own. */
    struct batch *writing;
    uint64_t unsaid; /* lost lines that no line has told of yet */
    int error;       /* why the last write failed; 0: it did not */
    bool torn;       /* the last line was written in part */
};

static void lose(struct scribe *scribe, uint64_t *number, uint64_t lines)
{
    *number += lines;
    atomic_fetch_add_explicit(&scribe->lost, lines, memory_order_relaxed);
}

void scribe_put(struct scribe *scribe, const struct line *line)
{
    pthread_mutex_lock(&scribe->mutex);
    struct batch *batch = scribe->filling;
    size_t before = batch->length;
    if (batch->lost > 0 || line->length > sizeof batch->text - before) {
        lose(scribe, &batch->lost, 1);
    } else {
        memcpy(batch->text + before, line->text, line->length);
        batch->length += line->length;
    }
    bool is_news = scribe->sleeps || (before < GATHERED && batch->length >= GATHERED);
    pthread_mutex_unlock(&scribe->mutex);
    if (is_news)
        pthread_cond_signal(&scribe->news);
}

uint64_t scribe_lost(const struct scribe *scribe)
{
    return atomic_load_explicit(&scribe->lost, memory_order_relaxed);
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

/* Until somebody wakes the thread. */
static void sleep_until_news(struct scribe *scribe)
{
    scribe->sleeps = true;
    while (scribe->filling->length == 0 && !scribe->closing)
        pthread_cond_wait(&scribe->news, &scribe->mutex);
    scribe->sleeps = false;
}

static void gather(struct scribe *scribe)
{
    struct timespec until = in_ms(GATHER_MS);
    while (scribe->filling->length < GATHERED && !scribe->closing &&
           pthread_cond_timedwait(&scribe->news, &scribe->mutex, &until) == 0)
        ;
}

/* Waits for lines, a moment longer for more of them, and takes them over. False at the end, when
 * there are none left. */
static bool take(struct scribe *scribe)
{
    struct batch *empty = scribe->writing;
    pthread_mutex_lock(&scribe->mutex);
    int looks = 0;
    do {
        if (looks++ == QUIET_LOOKS)
            sleep_until_news(scribe);
        gather(scribe);
    } while (scribe->filling->length == 0 && !scribe->closing);
    scribe->writing = scribe->filling;
    scribe->filling = empty;
    pthread_mutex_unlock(&scribe->mutex);
    return scribe->writing->length > 0;
}

/* As write(2), but that it waits where somebody else has made the descriptor one that does not. */
static ssize_t write_some(int fd, const char *bytes, size_t length)
{
    for (;;) {
        ssize_t written = write(fd, bytes, length);
        if (written >= 0 || (errno != EINTR && errno != EAGAIN))
            return written;
        if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    }
}

/* Returns how much of it was written; less than all where the descriptor takes no more. */
static size_t write_all(struct scribe *scribe, const char *bytes, size_t length)
{
    size_t written = 0;
    while (written < length) {
        ssize_t more = write_some(scribe->fd, bytes + written, length - written);
        if (more <= 0) {
            scribe->error = more < 0 ? errno : EIO;
            break;
        }
        written += (size_t)more;
    }
    if (written > 0)
        scribe->torn = bytes[written - 1] != '\n';
    return written;
}

static uint64_t lines_in(const char *text, size_t length)
{
    uint64_t lines = 0;
    for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* How much of the text to write at once: whole lines. */
static size_t piece_of(const struct scribe *scribe, const char *text, size_t length)
{
    if (length <= scribe->piece)
        return length;
    const char *last = memrchr(text, '\n', scribe->piece);
    return (size_t)(last - text) + 1;
}

/* Returns how much was written; less than all where the descriptor takes no more. */
static size_t write_lines(struct scribe *scribe, const char *text, size_t length)
{
    size_t done = 0, piece = 0, written = 0;
    for (; done < length && written == piece; done += written) {
        piece = piece_of(scribe, text + done, length - done);
        written = write_all(scribe, text + done, piece);
    }
    return done;
}

/* The line that says how many were lost, if any. False where it cannot be written either. */
static bool say_what_is_lost(struct scribe *scribe)
{
    struct line line;
    if (scribe->unsaid == 0)
        return true;
    if (scribe->torn && write_all(scribe, "\n", 1) < 1)
        return false;
    line_begin(&line, scribe->format, "warn",
               "lines of this log were lost here: its reader is too slow, or it cannot be written");
    line_number(&line, "lines", (int64_t)scribe->unsaid);
    if (scribe->error)
        line_text(&line, "reason", slice_of(strerrordesc_np(scribe->error)));
    line_end(&line);
    if (write_all(scribe, line.text, line.length) < line.length)
        return false;
    scribe->unsaid = 0;
    scribe->error = 0;
    return true;
}

/* What cannot be written is lost, so that what comes later has room. */
static void write_batch(struct scribe *scribe)
{
    struct batch *batch = scribe->writing;
    size_t done = say_what_is_lost(scribe) ? write_lines(scribe, batch->text, batch->length) : 0;
    lose(scribe, &scribe->unsaid, lines_in(batch->text + done, batch->length - done));
    scribe->unsaid += batch->lost;
    if (done == batch->length)
        say_what_is_lost(scribe);
    batch->length = 0;
    batch->lost = 0;
}

static void free_scribe(struct scribe *scribe)
{
    pthread_mutex_destroy(&scribe->mutex);
    pthread_cond_destroy(&scribe->news);
    pthread_cond_destroy(&scribe->ended);
    free(scribe->filling);
    free(scribe->writing);
    free(scribe);
}

static void *run(void *context)
{
    struct scribe *scribe = context;
    while (take(scribe))
        write_batch(scribe);
    pthread_mutex_lock(&scribe->mutex);
    scribe->has_ended = true;
    bool is_abandoned = scribe->is_abandoned;
    pthread_cond_signal(&scribe->ended);
    pthread_mutex_unlock(&scribe->mutex);
    if (is_abandoned)
        free_scribe(scribe);
    return NULL;
}

/* A write of more than PIPE_BUF may be mixed with what another process writes into the same pipe.
 */
static size_t piece_for(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) ? PIPE_BUF : SCRIBE_BUFFER;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Signals are for the main thread. */
static int start(struct scribe *scribe)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&scribe->thread, NULL, run, scribe);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

struct scribe *scribe_open(int fd, enum log_format format)
{
    struct scribe *scribe = calloc(1, sizeof *scribe);
    if (!scribe)
        abort();
    scribe->fd = fd;
    scribe->format = format;
    scribe->piece = piece_for(fd);
    scribe->filling = calloc(1, sizeof *scribe->filling);
    scribe->writing = calloc(1, sizeof *scribe->writing);
    if (!scribe->filling || !scribe->writing)
        abort();
    pthread_mutex_init(&scribe->mutex, NULL);
    init_condition(&scribe->news);
    init_condition(&scribe->ended);
    if (start(scribe) == 0)
        return scribe;
    free_scribe(scribe);
    return NULL;
}

bool scribe_close(struct scribe *scribe, int timeout_ms)
{
    struct timespec until = in_ms(timeout_ms);
    int result = 0;
    pthread_mutex_lock(&scribe->mutex);
    scribe->closing = true;
    pthread_cond_signal(&scribe->news);
    while (!scribe->has_ended && result == 0)
        result = pthread_cond_timedwait(&scribe->ended, &scribe->mutex, &until);
    bool has_ended = scribe->has_ended;
    scribe->is_abandoned = !has_ended;
    if (!has_ended)
        pthread_detach(scribe->thread);
    pthread_mutex_unlock(&scribe->mutex);
    if (has_ended) {
        pthread_join(scribe->thread, NULL);
        free_scribe(scribe);
    }
    return has_ended;
}
