/* Slow clients: each has so much time for what it is about, and no byte that it sends makes it
 * more. Who waits by right waits on. */
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
    HEAD_MS = 600,
    BODY_MS = 450,
    IDLE_MS = 900,
    DRIP_MS = 40,
    LATE_MS = 2000, /* beyond a deadline, on a machine that does other things as well */
    EVER_MS = 6000,
};

static struct stage stage;

static int setup(void **state)
{
    (void)state;
    stage_open_within(&stage, &(struct stage_bounds){.connections = CONNECTIONS,
                                                     .each_address = CONNECTIONS,
                                                     .head_ms = HEAD_MS,
                                                     .body_ms = BODY_MS,
                                                     .idle_ms = IDLE_MS});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_close(&stage);
    assert_int_equal(stage.metrics.connections, 0);
    return 0;
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

/* Sends a byte now and then until the server ends the connection; it has to be at `due`, of the
 * clock's ms. What it said until then is `heard`. */
static void drips_until(int fd, int64_t due, char heard[WIRE_SIZE])
{
    bool closed = false;
    size_t length = 0;
    heard[0] = '\0';
    while (!closed && clock_ms() < due + EVER_MS) {
        send(fd, "x", 1, MSG_NOSIGNAL);
        length += raw_receive(fd, heard + length, WIRE_SIZE - length, NULL, DRIP_MS, &closed);
    }
    int64_t now = clock_ms();
    if (now < due - 2 || now > due + LATE_MS)
        fail_msg("it ends at %+d ms, seen from when it should", (int)(now - due));
    close(fd);
}

static void ends_silently_at(int fd, int64_t due)
{
    char heard[WIRE_SIZE];
    drips_until(fd, due, heard);
    assert_string_equal(heard, "");
}

/* It is told why, as far as it can be. */
static void ends_with_408_at(int fd, int64_t due)
{
    static const char *const PARTS[] = {
        "HTTP/1.1 408 Request Timeout\r\n", "Content-Type: application/problem+json\r\n",
        "Connection: close\r\n", "\"code\":\"request_timeout\"", "\"status\":408"};
    char heard[WIRE_SIZE];
    drips_until(fd, due, heard);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (!strstr(heard, PARTS[i]))
            fail_msg("no %s in \"%s\"", PARTS[i], heard);
    const char *body = strstr(heard, "\r\n\r\n") + 4;
    assert_int_equal(atoi(strstr(heard, "Content-Length: ") + 16), strlen(body));
}

/* A request and its reply, after which the connection is idle. */
static int64_t use(int fd)
{
    say(fd, "/now");
    hear(fd, "now");
    return clock_ms();
}

static void a_new_connection_has_the_time_of_a_head(void **state)
{
    int64_t begun = clock_ms();
    (void)state;
    int silent = come(), line = come(), head = come();
    send_text(line, "GET /n");
    send_text(head, "GET /now HTTP/1.1\r\nHost: h\r\nX-Drip: ");
    ends_with_408_at(head, begun + HEAD_MS);
    assert_int_equal(stage.metrics.late_heads, 3);
    ends(silent);
    char byte[2];
    bool closed;
    assert_int_equal(raw_receive(line, byte, sizeof byte, NULL, EVER_MS, &closed), 0);
    assert_true(closed);
    close(line);
}

static void half_a_line_makes_it_no_longer(void **state)
{
    int64_t begun = clock_ms();
    int fd = come();
    (void)state;
    send_text(fd, "GET /n");
    ends_silently_at(fd, begun + HEAD_MS);
}

/* Its line comes late, but the time goes on from when the connection began: so it ends before one
 * that came after it, and before the line. */
static void the_line_makes_it_no_longer(void **state)
{
    int64_t begun = clock_ms();
    int fd = come();
    (void)state;
    clock_sleep_ms(HEAD_MS / 4);
    int later = come();
    clock_sleep_ms(HEAD_MS / 4);
    send_text(fd, "GET /now HTTP/1.1\r\nX-Drip: ");
    char byte[2];
    bool closed;
    assert_int_equal(raw_receive(later, byte, sizeof byte, NULL, EVER_MS, &closed), 0);
    assert_true(closed);
    assert_int_equal(stage.metrics.late_heads, 2);
    ends_with_408_at(fd, clock_ms());
    assert_true(clock_ms() >= begun + HEAD_MS);
    close(later);
}

static void a_further_request_has_it_from_its_line(void **state)
{
    SKIP_UNDER_VALGRIND("it measures time");
    int fd = come();
    (void)state;
    int64_t used = use(fd);
    clock_sleep_ms(HEAD_MS + 50); /* being idle is another matter */
    for (int i = 0; clock_ms() > used + IDLE_MS - 100; i++) {
        assert_true(i < 10); /* a busy machine slept for too long */
        close(fd);
        fd = come();
        used = use(fd);
        clock_sleep_ms(HEAD_MS + 50);
    }
    int64_t begun = clock_ms();
    send_text(fd, "GET /now HTTP/1.1\r\nHost: h\r\nX-Drip: ");
    ends_with_408_at(fd, begun + HEAD_MS);
    assert_int_equal(stage.metrics.late_heads, 1);
}

static void a_body_has_its_time_from_the_end_of_the_head(void **state)
{
    static const char *const HEADS[] = {
        "POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
        "POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
        int fd = come();
        int64_t begun = clock_ms();
        send_text(fd, HEADS[i]);
        ends_with_408_at(fd, begun + BODY_MS);
        assert_int_equal(stage.metrics.late_bodies, i + 1);
    }
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
    clock_sleep_ms(BODY_MS);
    send_text(rest->fd, rest->text);
    clock_sleep_ms(
        DRIP_MS); /* it is there before the loop looks at the time, and then at sockets */
}

/* Who was told that nothing was done may rely on it, even where the rest came in that instant. */
static void what_comes_too_late_is_not_done(void **state)
{
    int fd = come();
    char head[WIRE_SIZE];
    (void)state;
    send_text(fd, "POST /park/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{");
    clock_sleep_ms(BODY_MS / 2); /* by now it waits for the rest */
    stage_do(&stage, send_while_the_loop_is_held_up, &(struct rest){fd, "}"});
    hear_head(fd, head);
    assert_non_null(strstr(head, "HTTP/1.1 408 "));
    assert_true(clock_wait_until(has_no_connection, &stage, EVER_MS));
    assert_int_equal(stage.waiting, 0);
    close(fd);
}

static void an_idle_connection_ends_without_a_word(void **state)
{
    SKIP_UNDER_VALGRIND("it measures time");
    int fd = come();
    int64_t idle = use(fd);
    (void)state;
    char byte[2];
    bool closed;
    assert_int_equal(raw_receive(fd, byte, sizeof byte, NULL, EVER_MS, &closed), 0);
    assert_true(closed);
    assert_in_range(clock_ms(), idle + IDLE_MS - 100, idle + IDLE_MS + LATE_MS);
    assert_int_equal(stage.metrics.idle_ends, 1);
    close(fd);
}

/* Of which libmicrohttpd tells nobody anything. */
static void half_a_line_is_as_good_as_idle(void **state)
{
    SKIP_UNDER_VALGRIND("it measures time");
    int fd = come();
    int64_t idle = use(fd);
    (void)state;
    send_text(fd, "GET /n");
    ends_silently_at(fd, idle + IDLE_MS);
}

static void each_request_begins_the_time_anew(void **state)
{
    int fd = come();
    (void)state;
    for (int64_t begun = clock_ms(); clock_ms() < begun + 2 * IDLE_MS;) {
        use(fd);
        clock_sleep_ms(IDLE_MS / 3);
        send_text(fd, "POST /now HTTP/1.1\r\nHost: h\r\n");
        clock_sleep_ms(HEAD_MS / 4);
        send_text(fd, "Content-Length: 2\r\n\r\n{");
        clock_sleep_ms(BODY_MS / 4);
        send_text(fd, "}");
        hear(fd, "now");
    }
    close(fd);
    assert_int_equal(stage.metrics.late_heads + stage.metrics.late_bodies, 0);
    assert_int_equal(stage.metrics.idle_ends, 0);
}

static void a_reply_is_to_be_read(void **state)
{
    static char bytes[1 << 16];
    int64_t begun = clock_ms();
    int fd = ask(&stage, "/large");
    size_t length = 0;
    bool closed = false;
    (void)state;
    while (!closed && clock_ms() < begun + EVER_MS) { /* a little at a time does not help */
        length += raw_receive(fd, bytes, sizeof bytes, NULL, 1, &closed);
        clock_sleep_ms(DRIP_MS);
        if (stage.metrics.connections == 0)
            break;
    }
    assert_in_range(clock_ms(), begun + IDLE_MS - 5, begun + IDLE_MS + LATE_MS);
    assert_true(length < STAGE_LARGE);
    assert_int_equal(stage.metrics.unread_replies, 1);
    close(fd);
}

/* Each piece has its time, the stream as a whole has not. Sockets take more and more at first, so
 * it is written on until one takes no more. */
static void a_piece_of_a_stream_is_to_be_read(void **state)
{
    char *text = calloc(1, STAGE_TEXT);
    int fd = ask_place(&stage, "wait", 0);
    int64_t begun = clock_ms(), sent = begun;
    (void)state;
    memset(text, 'x', STAGE_TEXT / 4);
    stage_await_waiting(&stage, 1);
    stage_stream(&stage, 0, NULL);
    while (stage.metrics.connections > 0 && clock_ms() < begun + 2 * EVER_MS) {
        if (stage_has_unsent(&stage, 0)) {
            clock_sleep_ms(2);
            continue;
        }
        sent = clock_ms();
        stage_write(&stage, 0, text);
    }
    assert_in_range(clock_ms(), begun + IDLE_MS - 5, sent + IDLE_MS + LATE_MS);
    assert_int_equal(stage.metrics.unread_replies, 1);
    stage_await_hung_up(&stage, 1);
    free(text);
    close(fd);
}

static void who_waits_by_right_waits_on(void **state)
{
    enum { LONG_MS = HEAD_MS + BODY_MS + IDLE_MS };
    int parked = ask_place(&stage, "park", 0), waits = ask_place(&stage, "wait", 1);
    int stream = ask_place(&stage, "wait", 2);
    char head[WIRE_SIZE];
    (void)state;
    stage_await_waiting(&stage, 3);
    stage_stream(&stage, 2, "so far");
    hear_head(stream, head);
    hear_chunk(stream, "so far");
    clock_sleep_ms(LONG_MS);
    stage_answer(&stage, 0, "parked");
    stage_answer(&stage, 1, "waits");
    stage_write(&stage, 2, "on");
    stage_finish(&stage, 2);
    hear(parked, "parked");
    hear(waits, "waits");
    hear_chunk(stream, "on");
    hear_chunk(stream, "");
    close(parked);
    close(waits);
    close(stream);
}

/* All places are taken by clients that send nothing: the others have their turn when these have had
 * their time. */
static void who_comes_too_many_waits_for_a_place(void **state)
{
    int fds[CONNECTIONS];
    int64_t begun = clock_ms();
    (void)state;
    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = come();
    int late = ask(&stage, "/now");
    hear(late, "now");
    assert_in_range(clock_ms(), begun + HEAD_MS - 5, begun + HEAD_MS + LATE_MS);
    assert_int_equal(stage.metrics.out_of_place, 1);
    for (int i = 0; i < CONNECTIONS; i++)
        ends(fds[i]);
    close(late);
}

static void closing_waits_for_no_slow_client(void **state)
{
    (void)state;
    int idle = come(), line = come(), quick = come();
    use(idle);
    send_text(line, "GET /n");
    stage_begin_closing(&stage);
    assert_true(stage_end(&stage, HEAD_MS + LATE_MS));
    close(idle);
    close(line);
    close(quick);
    setup(NULL);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_new_connection_has_the_time_of_a_head),
        STORY(half_a_line_makes_it_no_longer),
        STORY(the_line_makes_it_no_longer),
        STORY(a_further_request_has_it_from_its_line),
        STORY(a_body_has_its_time_from_the_end_of_the_head),
        STORY(what_comes_too_late_is_not_done),
        STORY(an_idle_connection_ends_without_a_word),
        STORY(half_a_line_is_as_good_as_idle),
        STORY(each_request_begins_the_time_anew),
        STORY(a_reply_is_to_be_read),
        STORY(a_piece_of_a_stream_is_to_be_read),
        STORY(who_waits_by_right_waits_on),
        STORY(who_comes_too_many_waits_for_a_place),
        STORY(closing_waits_for_no_slow_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
