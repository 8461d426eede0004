#include "api/access/completion.h"

/* Replies that go on: every piece reaches the client, and whoever ends a stream, the other side
 * hears of it. */
#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A stream in place 0 that has begun with `first` (NULL: its head alone). */
static int begin(struct stage *stage, const char *first)
{
    char head[WIRE_SIZE];
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_stream(stage, 0, first);
    read_head(fd, head);
    assert_non_null(strstr(head, "HTTP/1.1 200"));
    assert_non_null(strstr(head, "Transfer-Encoding: chunked"));
    if (first)
        expect_chunk(fd, first);
    return fd;
}

TEST_ON_STAGE(stream_arrives_in_order_and_its_connection_goes_on)
{
    int fd = begin(stage, "one");
    stage_write(stage, 0, "two");
    expect_chunk(fd, "two");
    is_quiet(fd, 50);
    stage_write(stage, 0, "three");
    expect_chunk(fd, "three");
    stage_finish(stage, 0);
    expect_chunk(fd, "");
    say(fd, "/turn");
    expect_reply(fd, "turn");
    say(fd, "/wait/0");
    stage_await_waiting(stage, 1);
    stage_answer(stage, 0, "no stream");
    expect_reply(fd, "no stream");
    close(fd);
    assert_int_equal(stage->hung_up, 0);
}

TEST_ON_STAGE(a_stream_may_be_complete_at_once)
{
    char head[WIRE_SIZE];
    int fd = ask(stage, "/several");
    read_head(fd, head);
    expect_chunk(fd, "all at once");
    expect_chunk(fd, "");
    close(fd);
    assert_int_equal(stage->hung_up, 0);
}

/* Two pieces in one go, the second behind the first unacknowledged one. */
static void write_twice(struct stage *stage, void *context)
{
    (void)context;
    stage_write_here(stage, 0, "a");
    stage_write_here(stage, 0, "b");
}

TEST_ON_STAGE(pieces_of_one_turn_may_come_together)
{
    int fd = begin(stage, NULL);
    stage_do(stage, write_twice, NULL);
    expect_chunk(fd, "ab");
    close(fd);
    stage_await_hung_up(stage, 1);
}

TEST_ON_STAGE(a_client_that_leaves_is_noticed)
{
    int fd = begin(stage, "x");
    close(fd);
    stage_await_hung_up(stage, 1);
    reset(begin(stage, "x"));
    stage_await_hung_up(stage, 2);
    fd = begin(stage, "x");
    shutdown(fd, SHUT_WR);
    ends(fd);
    stage_await_hung_up(stage, 3);
    fd = begin(stage, NULL);
    close(fd);
    stage_await_hung_up(stage, 4);
    assert_int_equal(stage->undelivered, 0);
    assert_int_equal(stage->metrics.undelivered, 0);
}

static void write_and_close(struct stage *stage, void *context)
{
    stage_write_here(stage, 0, "more");
    close(*(int *)context);
}

static void finish_and_close(struct stage *stage, void *context)
{
    close(*(int *)context);
    stage_finish_here(stage, 0);
}

TEST_ON_STAGE(a_client_may_leave_while_the_stream_is_written_or_ended)
{
    for (int i = 0; i < 50; i++) {
        int fd = begin(stage, "x");
        stage_do(stage, write_and_close, &fd);
        stage_await_hung_up(stage, i + 1);
    }
    for (int i = 0; i < 50; i++) {
        int fd = begin(stage, "x");
        stage_do(stage, finish_and_close, &fd);
    }
    assert_int_equal(stage->waiting, 0);
    stage_close(stage);
    assert_int_equal(stage->hung_up, 50); /* a finished one is nobody's business any more */
}

static void close_and_stream(struct stage *stage, void *context)
{
    struct exchange *exchange = stage->places[0];
    close(*(int *)context);
    strcpy(exchange->grant.attempt.text, "attempt");
    exchange_stream(exchange, 201, "text/plain");
    exchange_write(exchange, "granted", 7);
    exchange_resume(exchange);
}

/* The grant goes back, and the operation is told that it has nobody to stream to. */
TEST_ON_STAGE(a_stream_whose_begin_nobody_receives_is_taken_back)
{
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_do(stage, close_and_stream, &fd);
    stage_await_hung_up(stage, 1);
    stage_close(stage);
    assert_int_equal(stage->undelivered, 1);
    assert_int_equal(stage->hung_up, 1);
}

TEST_ON_STAGE(http_1_0_is_served_until_the_end)
{
    static const char REQUEST[] = "GET /wait/0 HTTP/1.0\r\n\r\n";
    char head[WIRE_SIZE];
    int fd = raw_connect(stage->port);
    assert_true(raw_send(fd, REQUEST, strlen(REQUEST)));
    stage_await_waiting(stage, 1);
    stage_stream(stage, 0, "one ");
    read_head(fd, head);
    assert_null(strstr(head, "chunked"));
    expect_bytes(fd, "one ");
    stage_write(stage, 0, "two ");
    expect_bytes(fd, "two ");
    is_quiet(fd, 30);
    stage_finish(stage, 0);
    ends(fd);
    assert_int_equal(stage->hung_up, 0);
}

/* There is no body to write: the stream is over with its head, and so is the connection. */
TEST_ON_STAGE(head_does_not_hang)
{
    static const char REQUEST[] = "HEAD /wait/0 HTTP/1.1\r\nHost: h\r\n\r\n";
    char head[WIRE_SIZE];
    int fd = raw_connect(stage->port);
    assert_true(raw_send(fd, REQUEST, strlen(REQUEST)));
    stage_await_waiting(stage, 1);
    stage_stream(stage, 0, "x");
    read_head(fd, head);
    assert_non_null(strstr(head, "Connection: close"));
    ends(fd);
    stage_await_hung_up(stage, 1);
}

static char *long_text(size_t length)
{
    char *text = malloc(length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('a' + i % 26);
    text[length] = '\0';
    return text;
}

/* A chunked body in place, its chunks put together; false where it has not come to its end. */
static bool unchunk(char *body)
{
    char *end = body, *next = body;
    const char *limit = body + strlen(body);
    size_t size;
    do {
        char *line = strstr(next, "\r\n");
        size = line ? strtoul(next, NULL, 16) : 0;
        if (!line || (size_t)(limit - line) < 2 + size + 2)
            return false;
        memmove(end, line + 2, size);
        end += size;
        next = line + 2 + size + 2;
    } while (size > 0);
    *end = '\0';
    return true;
}

/* All of a stream up to its end; to be freed. */
static char *expect_all(int fd, char *begun, size_t length)
{
    enum { MOST = 8 << 20 };
    char *all = realloc(begun, MOST);
    assert_non_null(all);
    all[length] = '\0';
    raw_receive(fd, all + length, MOST - length, "\r\n0\r\n\r\n", CLOCK_HANG_MS, NULL);
    assert_true(unchunk(all));
    return all;
}

TEST_ON_STAGE(a_long_piece_comes_whole)
{
    char *text = long_text(3 * EXCHANGE_STREAM_LONGEST);
    int fd = begin(stage, NULL);
    stage_write(stage, 0, text);
    stage_finish(stage, 0);
    char *all = expect_all(fd, NULL, 0);
    assert_string_equal(all, text);
    free(all);
    free(text);
    close(fd);
    assert_int_equal(stage->hung_up, 0);
}

static bool nothing_is_unsent(void *context)
{
    struct stage *stage = context;
    return !stage->places[0] || stage->places[0]->stream.length == 0;
}

struct progress {
    const char *text;
    bool sent;
};

static void write_if_sent(struct stage *stage, void *context)
{
    struct progress *progress = context;
    progress->sent = nothing_is_unsent(stage);
    if (progress->sent)
        stage_write_here(stage, 0, progress->text);
}

/* As much as its socket takes waits for it (which may be 4 MiB), and more comes when it reads. */
TEST_ON_STAGE(a_slow_reader_gets_everything)
{
    enum { PIECE = 10000, PIECES = 600, BITE = 3000 };
    char *text = long_text(PIECE), *got = malloc(2 * PIECE * PIECES);
    size_t length = 0;
    int pieces = 0, waited = 0, fd = begin(stage, NULL);
    while (pieces < PIECES) {
        struct progress progress = {.text = text};
        stage_do(stage, write_if_sent, &progress);
        pieces += progress.sent;
        if (progress.sent)
            continue;
        waited++;
        length += raw_receive(fd, got + length, BITE, NULL, 1, NULL);
    }
    stage_finish(stage, 0);
    got = expect_all(fd, got, length);
    assert_true(waited > 0);
    assert_int_equal(strlen(got), PIECE * PIECES);
    for (size_t i = 0; i < PIECES; i++)
        assert_memory_equal(got + i * PIECE, text, PIECE);
    close(fd);
    free(text);
    free(got);
    assert_int_equal(stage->hung_up, 0);
}

/* The operation hears of it once for all that it has written, when the last of it has been sent:
 * not while a client does not read, and no more once the stream is finished. */
TEST_ON_STAGE(the_operation_is_notified_when_all_has_been_sent)
{
    enum { PIECE = 60000, SMALL = 4096 };
    char *text = long_text(PIECE), *got = malloc(2 * PIECE);
    int fd = begin(stage, "x"), pieces = 0;
    stage_await_emptied(stage, 1);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){SMALL}, sizeof(int));
    for (int sent = 1; stage->emptied == sent; sent++) { /* until its socket takes no more */
        stage_write(stage, 0, text);
        pieces++;
        for (int i = 0; stage->emptied == sent && (i < 200 || !stage_has_unsent(stage, 0)); i++)
            clock_sleep_ms(2);
    }
    assert_true(stage_has_unsent(stage, 0));
    assert_int_equal(stage->emptied, pieces);
    while (stage->emptied == pieces)
        raw_receive(fd, got, 2 * PIECE, NULL, 1, NULL);
    assert_int_equal(stage->emptied, pieces + 1);
    stage_finish(stage, 0);
    close(fd);
    stage_close(stage);
    assert_int_equal(stage->emptied, pieces + 1);
    free(text);
    free(got);
}

/* More than its socket and we are ready to keep for it. */
TEST_ON_STAGE(reader_that_does_not_read_is_taken_for_gone)
{
    enum { PIECE = 8000, MOST = 20000 };
    char *text = long_text(PIECE);
    int fd = begin(stage, "x");
    int pieces = 0;
    while (stage->hung_up == 0 && pieces < MOST) {
        stage_write(stage, 0, text);
        pieces++;
    }
    stage_await_hung_up(stage, 1);
    assert_int_equal(stage->waiting, 0);
    free(text);
    bool closed = false; /* what was on its way comes, and then the end */
    char *buffer = malloc(1 << 20);
    for (int i = 0; i < 1000 && !closed; i++)
        raw_receive(fd, buffer, 1 << 20, NULL, CLOCK_HANG_MS, &closed);
    free(buffer);
    assert_true(closed);
    close(fd);
    int other = ask(stage, "/now");
    expect_reply(other, "now");
    close(other);
    assert_int_equal(stage->hung_up, 1);
}

struct flood {
    const char *text;
    int times;
};

static void write_often(struct stage *stage, void *context)
{
    const struct flood *flood = context;
    for (int i = 0; i < flood->times; i++)
        stage_write_here(stage, 0, flood->text);
}

/* The operation is not told so in the midst of its writing, but by the loop. */
TEST_ON_STAGE(too_much_in_one_turn_ends_the_stream)
{
    struct flood flood = {long_text(EXCHANGE_STREAM_LONGEST + 1), 5};
    int fd = begin(stage, "x");
    stage_do(stage, write_often, &flood);
    stage_await_hung_up(stage, 1);
    ends(fd);
    fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_do(stage, write_often, &flood); /* before the head is sent */
    stage_stream(stage, 0, NULL);
    stage_await_hung_up(stage, 2);
    close(fd);
    free((char *)(uintptr_t)flood.text);
}

TEST_ON_STAGE(a_request_behind_a_stream_waits_for_its_end)
{
    int fd = begin(stage, "x");
    say(fd, "/now");
    stage_write(stage, 0, "y");
    expect_chunk(fd, "y");
    is_quiet(fd, 30);
    stage_finish(stage, 0);
    expect_chunk(fd, "");
    expect_reply(fd, "now");
    close(fd);
    assert_int_equal(stage->hung_up, 0);
}
