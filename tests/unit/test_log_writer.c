/* Lines on their way to a reader that is slow, stops, goes, or has a full disk. */
#include "server/log/log.h"
#include "server/log/log_writer.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CLOSING_MS = 300, /* for a close that cannot succeed */
    READ_AT_ONCE = 1 << 20,
    FLOOD = 20000, /* lines, more than the buffers and a pipe keep */
    THREADS = 4,
};

static const char LONG[] = "a line of some length, so that not too many of them are needed to fill "
                           "all the room there is for them, which is much";

/* A log that goes into a pipe, and all that was read of it. */
struct pen {
    struct log log;
    int read_fd;
    char *text;
    size_t length;
};

static void pen_open(struct pen *pen)
{
    int fds[2];
    *pen = (struct pen){.read_fd = -1};
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pen->read_fd = fds[0];
    pen->log.fd = fds[1];
    log_detach(&pen->log);
    assert_non_null(pen->log.log_writer);
}

/* All lines are the same but for the number. */
static void say(const struct log *log, const char *message, int number)
{
    struct line line;
    assert_true(log_begin(log, LOG_INFO, message, &line));
    line_number(&line, "number", number);
    log_end(log, &line);
}

/* Reads what comes next; 0 at the end, which there is once the log has been finished. */
static size_t read_more(struct pen *pen)
{
    struct pollfd readable = {.fd = pen->read_fd, .events = POLLIN};
    pen->text = realloc(pen->text, pen->length + READ_AT_ONCE + 1);
    assert_non_null(pen->text);
    assert_int_equal(poll(&readable, 1, CLOCK_HANG_MS), 1);
    ssize_t length = read(pen->read_fd, pen->text + pen->length, READ_AT_ONCE);
    assert_true(length >= 0);
    pen->length += (size_t)length;
    pen->text[pen->length] = '\0';
    return (size_t)length;
}

/* Reads on until `text` ends what was read. */
static void read_until(struct pen *pen, const char *text)
{
    size_t wanted = strlen(text);
    do
        assert_true(read_more(pen) > 0);
    while (pen->length < wanted || strcmp(pen->text + pen->length - wanted, text) != 0);
}

static void read_to_the_end(struct pen *pen)
{
    while (read_more(pen) > 0)
        ;
}

static void pen_close(struct pen *pen)
{
    close(pen->read_fd);
    close(pen->log.fd);
    free(pen->text);
}

/* What the lines that were read say together. */
struct tale {
    size_t seen; /* bytes of the text */
    int64_t lines, lost, gaps;
    int64_t last;    /* number */
    int64_t missing; /* after it */
};

/* Each line is a JSON object; numbers go up by one, or past a gap by as many as are said to be
 * lost. */
static void go_on(struct tale *tale, const struct pen *pen)
{
    const char *line = pen->text + tale->seen, *end;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        json_error_t error;
        json_t *json = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error);
        if (!json)
            fail_msg("%s: %.200s", error.text, line);
        const json_t *number = json_object_get(json, "number");
        if (number) {
            assert_int_equal(json_integer_value(number), tale->last + tale->missing + 1);
            tale->last = json_integer_value(number);
            tale->lines++;
            tale->missing = 0;
        } else {
            tale->missing += json_integer_value(json_object_get(json, "lines"));
            tale->lost += json_integer_value(json_object_get(json, "lines"));
            tale->gaps++;
        }
        json_decref(json);
    }
    tale->seen = (size_t)(line - pen->text);
}

static struct tale tale_of(const struct pen *pen)
{
    struct tale tale = {.last = -1};
    go_on(&tale, pen);
    assert_int_equal(tale.seen, pen->length);
    return tale;
}

/* Reads until so many lines have come or were said to be lost. */
static void read_lines(struct pen *pen, struct tale *tale, int64_t count)
{
    while (tale->lines + tale->lost < count) {
        read_more(pen);
        go_on(tale, pen);
    }
}

TEST(lines_are_written_in_order)
{
    struct pen pen;
    pen_open(&pen);
    for (int i = 0; i < 300; i++)
        say(&pen.log, "x", i);
    read_until(&pen, "\"number\":299}\n");
    struct tale tale = tale_of(&pen);
    assert_true(tale.lines == 300 && tale.gaps == 0);
    assert_int_equal(log_lost(&pen.log), 0);
    log_finish(&pen.log);
    pen_close(&pen);
}

TEST(finish_writes_all_lines)
{
    struct pen pen;
    for (int round = 0; round < 20; round++) {
        pen_open(&pen);
        for (int i = 0; i <= round; i++)
            say(&pen.log, "x", i);
        log_finish(&pen.log);
        close(pen.log.fd);
        pen.log.fd = -1;
        read_to_the_end(&pen);
        assert_int_equal(tale_of(&pen).lines, round + 1);
        pen_close(&pen);
    }
}

/* Nobody reads. The lines that have no place are counted one by one, and who reads later is told
 * how many are missing, there where they are. */
TEST(stopped_reader_costs_lines)
{
    struct pen pen;
    pen_open(&pen);
    for (int i = 0; i < FLOOD; i++) /* for ever, if one of them waited */
        say(&pen.log, LONG, i);
    assert_in_range(log_lost(&pen.log), 1, FLOOD - 1);
    struct tale tale = {.last = -1};
    read_lines(&pen, &tale, FLOOD);
    assert_int_equal(tale.lost, log_lost(&pen.log));
    assert_true(tale.gaps > 0);
    say(&pen.log, "x", FLOOD);
    read_lines(&pen, &tale, FLOOD + 1);
    assert_int_equal(tale.last, FLOOD);
    assert_int_equal(tale.lost, log_lost(&pen.log));
    log_finish(&pen.log);
    pen_close(&pen);
}

/* The flags of the descriptor belong to whoever else has it. */
TEST(descriptor_keeps_its_flags)
{
    struct pen pen;
    pen_open(&pen);
    int flags = fcntl(pen.log.fd, F_GETFL);
    for (int i = 0; i < FLOOD; i++)
        say(&pen.log, "x", i);
    assert_int_equal(fcntl(pen.log.fd, F_GETFL), flags);
    assert_false(flags & O_NONBLOCK);
    close(pen.read_fd);
    pen.read_fd = -1;
    log_finish(&pen.log);
    pen_close(&pen);
}

static bool is_full(void *pen)
{
    struct pollfd writable = {.fd = ((struct pen *)pen)->log.fd, .events = POLLOUT};
    return poll(&writable, 1, 0) == 0;
}

/* Somebody else has made it one that does not wait: what it does not take at once comes later. */
TEST(nonblocking_descriptor_loses_no_lines)
{
    struct pen pen;
    pen_open(&pen);
    assert_int_equal(fcntl(pen.log.fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 5000; i++)
        say(&pen.log, "x", i);
    assert_true(clock_wait_until(is_full, &pen, CLOCK_HANG_MS));
    read_until(&pen, "\"number\":4999}\n");
    assert_int_equal(tale_of(&pen).lines, 5000);
    log_finish(&pen.log);
    pen_close(&pen);
}

static bool has_lost(void *context)
{
    return log_lost(context) > 0;
}

/* Another reader, or room on the disk: what is written into a descriptor changes. */
static void comes_to_be_read(int broken_fd, int expected, const char *reason)
{
    struct pen pen;
    char text[128];
    pen_open(&pen);
    int pipe_fd = dup(pen.log.fd);
    assert_true(pipe_fd >= 0);
    assert_int_equal(dup2(broken_fd, pen.log.fd), pen.log.fd);
    for (int i = 0; i < expected; i++) {
        uint64_t lost = log_lost(&pen.log);
        say(&pen.log, "x", i);
        int64_t deadline = clock_ms() + CLOCK_HANG_MS;
        while (log_lost(&pen.log) == lost && clock_ms() < deadline)
            clock_sleep_ms(1);
    }
    assert_int_equal(log_lost(&pen.log), expected);
    assert_int_equal(dup2(pipe_fd, pen.log.fd), pen.log.fd);
    close(pipe_fd);
    say(&pen.log, "x", expected);
    snprintf(text, sizeof text, "\"number\":%d}\n", expected);
    read_until(&pen, text);
    struct tale tale = tale_of(&pen);
    assert_true(tale.lines == 1 && tale.lost == expected && tale.gaps == 1);
    snprintf(text, sizeof text, "\"lines\":%d,\"reason\":\"%s\"}\n", expected, reason);
    assert_non_null(strstr(pen.text, text));
    log_finish(&pen.log);
    pen_close(&pen);
}

TEST(full_disk_costs_lines)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    comes_to_be_read(full, 3, "No space left on device");
    close(full);
}

TEST(closed_reader_costs_lines)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    close(fds[0]);
    comes_to_be_read(fds[1], 2, "Broken pipe");
    close(fds[1]);
}

/* A file that takes a part of a line only. */
TEST(partly_written_line_is_ended)
{
    char path[] = "/tmp/scribe-XXXXXX", text[8192] = "";
    struct log log = {.fd = mkstemp(path)};
    assert_true(log.fd >= 0);
    unlink(path);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){100, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    log_detach(&log);
    say(&log, "one", 0);
    say(&log, "two", 1);
    assert_true(clock_wait_until(has_lost, &log, CLOCK_HANG_MS));
    setrlimit(RLIMIT_FSIZE, &before);
    say(&log, "three", 2);
    log_finish(&log);
    assert_true(pread(log.fd, text, sizeof text - 1, 0) > 0);
    close(log.fd);
    char *rest = strchr(text, '\n') + 1;
    assert_int_equal(strchr(rest, '\n') - text, 100);
    rest = strchr(rest, '\n') + 1;
    assert_non_null(strstr(rest, "\"lines\":1,\"reason\":\"File too large\"}\n{"));
    assert_non_null(strstr(rest, "\"number\":2}\n"));
}

/* Nobody reads, and the end comes all the same. */
TEST(close_ends_without_a_reader)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct log_writer *log_writer = log_writer_open(fds[1], LOG_JSON);
    struct log log = {.fd = fds[1], .log_writer = log_writer};
    for (int i = 0; i < FLOOD; i++)
        say(&log, "x", i);
    int64_t before = clock_ms();
    assert_false(log_writer_close(log_writer, CLOSING_MS));
    assert_true(clock_ms() - before >= CLOSING_MS - 1);
    close(fds[0]); /* so that the thread comes to its end */
}

/* Several threads, several processes */

struct speaker {
    const struct log *log;
    const char *name;
    pthread_t thread;
};

enum { EACH = 2000 };

static void *speak(void *context)
{
    struct speaker *speaker = context;
    for (int i = 0; i < EACH; i++)
        say(speaker->log, speaker->name, i);
    return NULL;
}

/* Each line is whole, and those of each speaker, "0" and so on, come in order. */
static void expect_lines_of(struct pen *pen, int speakers)
{
    int64_t next[THREADS] = {0};
    size_t seen = 0;
    for (int lines = 0; lines < speakers * EACH;) {
        assert_true(read_more(pen) > 0);
        for (char *end; (end = strchr(pen->text + seen, '\n')); lines++) {
            size_t length = (size_t)(end - pen->text) - seen;
            json_t *json = json_loadb(pen->text + seen, length, 0, NULL);
            if (!json)
                fail_msg("%.*s", (int)length, pen->text + seen);
            int who = atoi(json_string_value(json_object_get(json, "msg")));
            assert_in_range(who, 0, speakers - 1);
            assert_int_equal(json_integer_value(json_object_get(json, "number")), next[who]++);
            json_decref(json);
            seen += length + 1;
        }
    }
}

TEST(lines_of_threads_keep_their_order)
{
    static const char *const NAMES[THREADS] = {"0", "1", "2", "3"};
    struct pen pen;
    struct speaker speakers[THREADS];
    pen_open(&pen);
    for (int i = 0; i < THREADS; i++) {
        speakers[i] = (struct speaker){.log = &pen.log, .name = NAMES[i]};
        assert_int_equal(pthread_create(&speakers[i].thread, NULL, speak, &speakers[i]), 0);
    }
    expect_lines_of(&pen, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_join(speakers[i].thread, NULL);
    log_finish(&pen.log);
    pen_close(&pen);
}

/* Two processes, say two batonds in one shell, write into the same pipe: no line is torn. */
TEST(two_writers_share_a_pipe)
{
    struct pen pen;
    pen_open(&pen);
    struct log other = {.fd = pen.log.fd};
    log_detach(&other);
    for (int i = 0; i < EACH; i++) {
        say(&pen.log, "0", i);
        say(&other, "1", i);
    }
    expect_lines_of(&pen, 2);
    log_finish(&other);
    pen.log.fd = other.fd;
    log_finish(&pen.log);
    pen_close(&pen);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return tests_run(NULL, NULL);
}
