/* Slow clients: each has so much time for what it is about, and no byte that it sends makes it
 * more. Who waits by right waits on. How soon after its time a client is gone is asserted in
 * tests/timing/test_slow_clients.c. */
#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS = 40,
    LASTS_MS = 1000, /* what a test is about; all else lasts longer than any test */
    NEVER_MS = 10 * CLOCK_HANG_MS,
    DRIP_MS = 40,
};

static struct stage stage;

static void begin(int64_t head_ms, int64_t body_ms, int64_t idle_ms)
{
    stage_open_within(&stage, &(struct stage_bounds){.connections = CONNECTIONS,
                                                     .each_address = CONNECTIONS,
                                                     .head_ms = head_ms,
                                                     .body_ms = body_ms,
                                                     .idle_ms = idle_ms});
}

static void end(void)
{
    stage_close(&stage);
    assert_int_equal(stage.metrics.connections, 0);
}

static int come(void)
{
    int fd = raw_connect(stage.port);
    assert_true(fd >= 0);
    return fd;
}

static void send_text(int fd, const char *text)
{
    assert_true(raw_send(fd, text, strlen(text)));
}

/* Sends a byte now and then until the server ends the connection, which is not before `due`, of the
 * clock's ms. What it said until then is `received`. */
static void drips_until(int fd, int64_t due, char received[WIRE_SIZE])
{
    bool closed = false;
    size_t length = 0;
    received[0] = '\0';
    while (!closed && clock_ms() < due + CLOCK_HANG_MS) {
        send(fd, "x", 1, MSG_NOSIGNAL);
        length += raw_receive(fd, received + length, WIRE_SIZE - length, NULL, DRIP_MS, &closed);
    }
    assert_true(closed);
    if (clock_ms() < due - 2)
        fail_msg("it ends %d ms too early", (int)(due - clock_ms()));
    close(fd);
}

static void ends_silently_at(int fd, int64_t due)
{
    char received[WIRE_SIZE];
    drips_until(fd, due, received);
    assert_string_equal(received, "");
}

/* It is told why, as far as it can be. */
static void ends_with_408_at(int fd, int64_t due)
{
    static const char *const PARTS[] = {
        "HTTP/1.1 408 Request Timeout\r\n", "Content-Type: application/problem+json\r\n",
        "Connection: close\r\n", "\"code\":\"request_timeout\"", "\"status\":408"};
    char received[WIRE_SIZE];
    drips_until(fd, due, received);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (!strstr(received, PARTS[i]))
            fail_msg("no %s in \"%s\"", PARTS[i], received);
    const char *body = strstr(received, "\r\n\r\n") + 4;
    assert_int_equal(atoi(strstr(received, "Content-Length: ") + 16), strlen(body));
}

/* A request and its reply, after which the connection is idle. */
static void use(int fd)
{
    say(fd, "/now");
    expect_reply(fd, "now");
}

/* A new connection has the time of a head, whatever it sends of it; a further request has it from
 * its line on. */
TEST(a_head_has_its_time)
{
    begin(LASTS_MS, NEVER_MS, NEVER_MS);
    int again = come();
    use(again);
    int64_t begun = clock_ms();
    int silent = come(), line = come(), head = come();
    send_text(line, "GET /n");
    send_text(head, "GET /now HTTP/1.1\r\nHost: h\r\nX-Drip: ");
    ends_with_408_at(head, begun + LASTS_MS);
    ends(silent);
    ends_silently_at(line, begun + LASTS_MS);
    assert_int_equal(stage.metrics.late_heads, 3);

    begun = clock_ms(); /* it was idle for longer, which is another matter */
    send_text(again, "GET /now HTTP/1.1\r\nHost: h\r\nX-Drip: ");
    ends_with_408_at(again, begun + LASTS_MS);
    assert_int_equal(stage.metrics.late_heads, 4);
    end();
}

/* Its line comes late, but the time goes on from when the connection began: so it ends before one
 * that came after it, and before the line. */
TEST(the_line_makes_it_no_longer)
{
    begin(LASTS_MS, NEVER_MS, NEVER_MS);
    int64_t begun = clock_ms();
    int fd = come();
    clock_sleep_ms(LASTS_MS / 5);
    int later = come();
    clock_sleep_ms(LASTS_MS / 5);
    raw_send(fd, "GET /now HTTP/1.1\r\nX-Drip: ", 27); /* too late, where the machine stood still */
    ends(later);
    assert_true(clock_ms() >= begun + LASTS_MS);
    assert_int_equal(stage.metrics.late_heads, 2);
    close(fd);
    end();
}

TEST(a_body_has_its_time_from_the_end_of_the_head)
{
    static const char *const HEADS[] = {
        "POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
        "POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
    };
    int fds[2];
    begin(NEVER_MS, LASTS_MS, NEVER_MS);
    for (size_t i = 0; i < 2; i++)
        fds[i] = come();
    clock_sleep_ms(LASTS_MS / 2);
    int64_t begun = clock_ms();
    for (size_t i = 0; i < 2; i++)
        send_text(fds[i], HEADS[i]);
    for (size_t i = 0; i < 2; i++)
        ends_with_408_at(fds[i], begun + LASTS_MS);
    assert_int_equal(stage.metrics.late_bodies, 2);
    end();
}

static bool has_no_connection(void *context)
{
    return ((struct stage *)context)->metrics.connections == 0;
}

struct rest {
    int fd;
    const char *text;
};

static void send_while_the_loop_is_held_up(struct stage *held, void *context)
{
    const struct rest *rest = context;
    (void)held;
    clock_sleep_ms(LASTS_MS);
    send_text(rest->fd, rest->text);
    clock_sleep_ms(
        DRIP_MS); /* it is there before the loop looks at the time, and then at sockets */
}

/* Who was told that nothing was done may rely on it, even where the rest came in that instant. */
TEST(body_after_its_deadline_is_not_served)
{
    char head[WIRE_SIZE];
    begin(NEVER_MS, LASTS_MS, NEVER_MS);
    int fd = come();
    send_text(fd, "POST /park/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{");
    assert_true(raw_comes_to_be_read(fd, CLOCK_HANG_MS));
    stage_do(&stage, send_while_the_loop_is_held_up, &(struct rest){fd, "}"});
    read_head(fd, head);
    assert_non_null(strstr(head, "HTTP/1.1 408 "));
    assert_true(clock_wait_until(has_no_connection, &stage, CLOCK_HANG_MS));
    assert_int_equal(stage.waiting, 0);
    close(fd);
    end();
}

/* Of half a line libmicrohttpd tells nobody anything. */
TEST(an_idle_connection_ends_without_a_word)
{
    begin(NEVER_MS, NEVER_MS, LASTS_MS);
    int64_t begun = clock_ms();
    int idle = come(), half = come();
    use(idle);
    use(half);
    send_text(half, "GET /n");
    ends(idle);
    assert_true(clock_ms() >= begun + LASTS_MS);
    ends_silently_at(half, begun + LASTS_MS);
    assert_int_equal(stage.metrics.idle_ends, 2);
    end();
}

TEST(a_reply_is_to_be_read)
{
    static char bytes[1 << 16];
    begin(NEVER_MS, NEVER_MS, LASTS_MS);
    int64_t begun = clock_ms();
    int fd = ask(&stage, "/large");
    size_t length = 0;
    bool closed = false;
    while (!closed && clock_ms() < begun + CLOCK_HANG_MS) { /* a little at a time does not help */
        length += raw_receive(fd, bytes, sizeof bytes, NULL, 1, &closed);
        clock_sleep_ms(DRIP_MS);
        if (length > 0 && stage.metrics.connections == 0)
            break;
    }
    assert_true(clock_ms() >= begun + LASTS_MS);
    assert_true(length < STAGE_LARGE);
    assert_int_equal(stage.metrics.unread_replies, 1);
    close(fd);
    end();
}

/* Each piece has its time, the stream as a whole has not. Sockets take more and more at first, so
 * it is written on until one takes no more. */
TEST(a_piece_of_a_stream_is_to_be_read)
{
    char *text = calloc(1, STAGE_TEXT);
    begin(NEVER_MS, NEVER_MS, LASTS_MS);
    int64_t begun = clock_ms();
    int fd = ask_place(&stage, "wait", 0);
    memset(text, 'x', STAGE_TEXT / 4);
    stage_await_waiting(&stage, 1);
    stage_stream(&stage, 0, NULL);
    while (stage.hung_up == 0 && clock_ms() < begun + CLOCK_HANG_MS) {
        if (stage_has_unsent(&stage, 0))
            clock_sleep_ms(2);
        else
            stage_write(&stage, 0, text);
    }
    assert_true(clock_ms() >= begun + LASTS_MS);
    stage_await_hung_up(&stage, 1);
    assert_true(clock_wait_until(has_no_connection, &stage, CLOCK_HANG_MS));
    assert_int_equal(stage.metrics.unread_replies, 1);
    free(text);
    close(fd);
    end();
}

TEST(waiting_requests_outlast_all_deadlines)
{
    enum { SHORT_MS = LASTS_MS / 4 };
    char head[WIRE_SIZE];
    begin(NEVER_MS, SHORT_MS, SHORT_MS);
    int parked = ask_place(&stage, "park", 0), waits = ask_place(&stage, "wait", 1);
    int stream = ask_place(&stage, "wait", 2);
    stage_await_waiting(&stage, 3);
    stage_stream(&stage, 2, "so far");
    read_head(stream, head);
    expect_chunk(stream, "so far");
    int idle = ask(&stage, "/now");
    expect_reply(idle, "now");
    ends(idle); /* which came after them and waits by no right */
    clock_sleep_ms(SHORT_MS);
    stage_answer(&stage, 0, "parked");
    stage_answer(&stage, 1, "waits");
    stage_write(&stage, 2, "on");
    stage_finish(&stage, 2);
    expect_reply(parked, "parked");
    expect_reply(waits, "waits");
    expect_chunk(stream, "on");
    expect_chunk(stream, "");
    close(parked);
    close(waits);
    close(stream);
    end();
}

/* All places are taken by clients that send nothing: the others have their turn when these have had
 * their time. */
TEST(connection_beyond_the_limit_waits_for_a_place)
{
    int fds[CONNECTIONS];
    begin(LASTS_MS, NEVER_MS, NEVER_MS);
    int64_t begun = clock_ms();
    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = come();
    int late = ask(&stage, "/now");
    expect_reply(late, "now");
    assert_true(clock_ms() >= begun + LASTS_MS);
    assert_int_equal(stage.metrics.out_of_place, 1);
    for (int i = 0; i < CONNECTIONS; i++)
        ends(fds[i]);
    close(late);
    end();
}

TEST(closing_waits_for_no_slow_client)
{
    begin(NEVER_MS, NEVER_MS, NEVER_MS);
    int idle = come(), line = come(), quick = come();
    use(idle);
    send_text(line, "GET /n");
    end();
    close(idle);
    close(line);
    close(quick);
}
