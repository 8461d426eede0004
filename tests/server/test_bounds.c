/* How many connections there may be from one address, and how long a request's head may be: one
 * more is told so, and nothing else happens. */
#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 100, EACH = 4, MANY = 300, NEVER_MS = 10 * CLOCK_HANG_MS };

static struct stage stage;

static int setup(void **state)
{
    (void)state;
    stage_open_within(&stage, &(struct stage_bounds){.connections = CONNECTIONS,
                                                     .each_address = EACH,
                                                     .head_ms = NEVER_MS,
                                                     .body_ms = NEVER_MS,
                                                     .idle_ms = NEVER_MS});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_close(&stage);
    return 0;
}

/* Its whole answer, until the server closes. */
static void read_all(int fd, char text[WIRE_SIZE])
{
    bool closed;
    raw_receive(fd, text, WIRE_SIZE, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
}

static void expect_429(int fd)
{
    static const char *const PARTS[] = {
        "HTTP/1.1 429 Too Many Requests\r\n",         "Retry-After: 1\r\n",
        "Content-Type: application/problem+json\r\n", "Connection: close\r\n",
        "\"code\":\"too_many_connections\"",          "\"status\":429"};
    char text[WIRE_SIZE];
    read_all(fd, text);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (!strstr(text, PARTS[i]))
            fail_msg("no %s in \"%s\"", PARTS[i], text);
    const char *body = strstr(text, "\r\n\r\n") + 4;
    assert_int_equal(atoi(strstr(text, "Content-Length: ") + 16), strlen(body));
}

static void is_turned_away(int fd)
{
    expect_429(fd);
    close(fd);
}

static void take_all(int fds[EACH])
{
    for (int i = 0; i < EACH; i++) {
        fds[i] = ask(&stage, "/now");
        expect_reply(fds[i], "now");
    }
}

static void give_all(int fds[EACH])
{
    for (int i = 0; i < EACH; i++)
        close(fds[i]);
}

TEST_WITH(one_more_gets_429, setup, teardown)
{
    int fds[EACH];
    take_all(fds);
    is_turned_away(ask(&stage, "/now"));
    is_turned_away(raw_connect(stage.port)); /* whatever it asks, or nothing */
    say(fds[0], "/now");                     /* while the others go on */
    expect_reply(fds[0], "now");
    assert_int_equal(stage.metrics.turned_away, 2);
    assert_int_equal(stage.metrics.connections, EACH);
    give_all(fds);
}

static bool gets_in(void *context)
{
    char head[WIRE_SIZE];
    int fd = ask(&stage, "/now");
    (void)context;
    raw_receive(fd, head, sizeof head, "\r\n", CLOCK_HANG_MS, NULL);
    close(fd);
    return strstr(head, "HTTP/1.1 200 ") == head;
}

TEST_WITH(a_place_is_free_when_one_has_gone, setup, teardown)
{
    int fds[EACH];
    take_all(fds);
    assert_false(gets_in(NULL));
    close(fds[1]);
    assert_true(clock_wait_until(gets_in, NULL, CLOCK_HANG_MS));
    fds[1] = ask(&stage, "/now");
    give_all(fds);
}

struct goal {
    size_t files;
};

static bool has_closed_all(void *context)
{
    return open_files() <= ((struct goal *)context)->files;
}

/* They are told, and cost no more than a few descriptors, for a moment. */
TEST_WITH(a_crowd_is_turned_away, setup, teardown)
{
    enum { AT_A_TIME = 32 };
    int fds[EACH], crowd[MANY];
    take_all(fds);
    struct goal goal = {open_files()};
    for (int i = 0; i < MANY; i++) {
        crowd[i] = raw_connect(stage.port);
        assert_true(crowd[i] >= 0);
    }
    for (int i = 0; i < MANY; i++)
        is_turned_away(crowd[i]);
    assert_true(open_files() <= goal.files + AT_A_TIME);
    assert_int_equal(stage.metrics.turned_away, MANY);
    assert_true(clock_wait_until(has_closed_all, &goal, CLOCK_HANG_MS));
    say(fds[0], "/now");
    expect_reply(fds[0], "now");
    give_all(fds);
}

/* A client that goes on sending hears of it, too: its connection is not reset under the answer. */
TEST_WITH(refused_client_that_goes_on_sending_is_not_reset, setup, teardown)
{
    static char body[200000];
    int fds[EACH];
    take_all(fds);
    int fd = raw_connect(stage.port);
    assert_true(fd >= 0);
    memset(body, 'x', sizeof body);
    say(fd, "/now");
    for (int i = 0; i < 5; i++) {
        assert_true(raw_send(fd, body, sizeof body / 10));
        clock_sleep_ms(20);
    }
    expect_429(fd);
    struct goal goal = {open_files() - 1};
    assert_true(clock_wait_until(has_closed_all, &goal, CLOCK_HANG_MS));
    int error = 0;
    socklen_t length = sizeof error;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    assert_int_equal(error, 0);
    close(fd);
    give_all(fds);
}

TEST_WITH(closing_waits_for_none_of_them, setup, teardown)
{
    int fds[EACH];
    take_all(fds);
    int one = ask(&stage, "/now"), other = raw_connect(stage.port);
    is_turned_away(one);
    stage_begin_closing(&stage);
    assert_true(stage_end(&stage, CLOCK_HANG_MS));
    close(other);
    give_all(fds);
    setup(NULL);
}

/* A request that has so many query parameters, bytes in a field, fields, and cookies. */
static char *request_with(size_t parameters, size_t in_field, size_t fields, size_t cookies)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fputs("GET /now?", out);
    for (size_t i = 0; i < parameters; i++)
        fprintf(out, "&a%zu=1", i);
    fprintf(out, " HTTP/1.1\r\nHost: h\r\nX-Long: %0*d\r\n", (int)in_field, 0);
    for (size_t i = 0; i < fields; i++)
        fprintf(out, "X-Field: %zu\r\n", i);
    fputs("Cookie: a=b", out);
    for (size_t i = 0; i < cookies; i++)
        fprintf(out, "; c%zu=1", i);
    fputs("\r\n\r\n", out);
    fclose(out);
    return text;
}

/* libmicrohttpd keeps it all in 8 KiB: what does not fit is refused by the library itself. */
TEST_WITH(a_head_has_8_kib, setup, teardown)
{
    static const struct {
        size_t parameters, in_field, fields;
        const char *status;
    } HEADS[] = {
        {0, 1, 0, "200"},    {400, 1, 0, "200"},   {0, 4000, 0, "200"},
        {0, 1, 50, "200"},   {1500, 1, 0, "414"},  {9000, 1, 0, "414"},
        {0, 9000, 0, "431"}, {0, 60000, 0, "431"}, {0, 1, 1000, "431"},
    };
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
        char *request = request_with(HEADS[i].parameters, HEADS[i].in_field, HEADS[i].fields, 0);
        char head[WIRE_SIZE];
        int fd = raw_connect(stage.port);
        assert_true(fd >= 0);
        raw_send(fd, request, strlen(request)); /* which may be more than the server reads */
        read_head(fd, head);
        if (strncmp(head + strlen("HTTP/1.1 "), HEADS[i].status, 3) != 0)
            fail_msg("%zu + %zu + %zu: %s", HEADS[i].parameters, HEADS[i].in_field, HEADS[i].fields,
                     head);
        if (strcmp(HEADS[i].status, "200") != 0)
            assert_non_null(strcasestr(head, "Connection: close"));
        free(request);
        close(fd);
    }
}

static void is_answered(const char *request, size_t size)
{
    char text[WIRE_SIZE];
    int fd = raw_connect(stage.port);
    assert_true(fd >= 0);
    raw_send(fd, request, strlen(request));
    raw_receive(fd, text, sizeof text, "\r\n\r\n", CLOCK_HANG_MS, NULL);
    bool is_served = strncmp(text, "HTTP/1.1 200 ", 13) == 0;
    bool is_refused = strncmp(text, "HTTP/1.1 4", 10) == 0 && strcasestr(text, "Connection: close");
    if (!is_served && !is_refused)
        fail_msg("%zu: \"%s\"", size, text);
    close(fd);
}

/* Whatever its size is, there is an answer, and at once. Around 8 KiB libmicrohttpd has no memory
 * left for one, and with many parameters version 0.9 said nothing at all. */
TEST_WITH(a_head_of_any_size_is_answered, setup, teardown)
{
    enum { LARGEST = 9000, STEP = 61, PER_FIELD = 16, PER_PARAMETER = 12 };
    for (size_t size = 0; size < LARGEST; size += STEP) {
        char *const requests[] = {
            request_with(size / PER_PARAMETER, 1, 0, 0), request_with(0, size + 1, 0, 0),
            request_with(0, 1, size / PER_FIELD, 0), request_with(0, 1, 0, size / PER_PARAMETER)};
        for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
            is_answered(requests[i], size);
            free(requests[i]);
        }
    }
}

/* It is told so before its body, and what it sends meanwhile resets nothing. */
TEST_WITH(the_body_of_nobody_is_not_waited_for, setup, teardown)
{
    static const char HEAD[] = "POST /nobody HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n";
    static char body[30000];
    char text[WIRE_SIZE];
    bool closed;
    int fd = raw_connect(stage.port);
    assert_true(fd >= 0);
    assert_true(raw_send(fd, HEAD, strlen(HEAD)));
    raw_receive(fd, text, sizeof text, "nobody", CLOCK_HANG_MS, NULL);
    assert_non_null(strstr(text, "HTTP/1.1 401 "));
    assert_non_null(strcasestr(text, "Connection: close"));
    assert_true(raw_send(fd, body, sizeof body));
    raw_receive(fd, text, sizeof text, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
    int error = 0;
    socklen_t length = sizeof error;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    assert_int_equal(error, 0);
    close(fd);
}

/* A connection whose requests have none goes on. */
TEST_WITH(principal_nobody_without_a_body_keeps_its_connection, setup, teardown)
{
    int fd = ask(&stage, "/nobody");
    expect_reply(fd, "nobody");
    say(fd, "/now");
    expect_reply(fd, "now");
    close(fd);
}

/* A body without an announced length is read on for an answer that it can hear, but not for ever.
 */
TEST_WITH(a_body_without_an_end_ends_its_connection, setup, teardown)
{
    enum { PIECE = 4096, PIECES_MOST = 8192 };
    static const char HEAD[] =
        "POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    char piece[PIECE + 8];
    int length = snprintf(piece, sizeof piece, "%x\r\n%0*d\r\n", PIECE - 8, PIECE - 8, 0);
    int pieces = 0;
    int fd = raw_connect(stage.port);
    raw_send(fd, HEAD, strlen(HEAD));
    while (pieces < PIECES_MOST && raw_send(fd, piece, (size_t)length))
        pieces++;
    assert_in_range(pieces, (1 << 20) / PIECE, PIECES_MOST - 1);
    close(fd);
}
