/* The end of a server: whoever is being served is served to the end, whoever waits is answered, and
 * nobody is kept by an API that does not answer. */
#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CROWD = 600,
    DEADLINE_MS = 5000,
    ARRIVAL_MS = 1000, /* at least, for who has connected and said nothing yet */
};

/* The reply says that it is the last, and is. */
static void expect_the_last(int fd, const char *body)
{
    char head[WIRE_SIZE];
    read_head(fd, head);
    if (!strstr(head, "Connection: close"))
        fail_msg("no Connection: close in %s", head);
    expect_bytes(fd, body);
    ends(fd);
}

TEST_ON_STAGE(drain_answers_waiting_requests)
{
    int fds[CROWD];
    for (int i = 0; i < CROWD; i++)
        fds[i] = ask_place(stage, "wait", i);
    stage_await_waiting(stage, CROWD);
    stage_begin_closing(stage);
    for (int i = 0; i < CROWD; i++)
        expect_the_last(fds[i], "draining");
    assert_true(stage->drained);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_int_equal(stage->hung_up, 0);
    assert_int_equal(stage->metrics.waiting, 0);
}

TEST_ON_STAGE(streams_come_to_their_end)
{
    char head[WIRE_SIZE];
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_stream(stage, 0, "first");
    read_head(fd, head);
    expect_chunk(fd, "first");
    stage_begin_closing(stage);
    expect_chunk(fd, "draining");
    expect_chunk(fd, "");
    ends(fd);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_int_equal(stage->hung_up, 0);
}

struct callers {
    int fds[CROWD];
};

/* All this happens in one turn of the loop: the kernel has accepted them, the server has not. */
static void call_and_close(struct stage *here, void *context)
{
    struct callers *callers = context;
    for (int i = 0; i < CROWD; i++)
        callers->fds[i] = i % 2 ? ask(here, "/turn") : ask_place(here, "wait", i);
    stage_close_here(here);
}

TEST_ON_STAGE(drain_serves_connections_that_the_kernel_has_accepted)
{
    static struct callers callers;
    stage_do(stage, call_and_close, &callers);
    for (int i = 0; i < CROWD; i++)
        expect_the_last(callers.fds[i], "draining");
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_int_equal(stage->hung_up, 0);
}

TEST_ON_STAGE(drain_finishes_parked_requests)
{
    stage->deaf = true;
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_begin_closing(stage);
    clock_sleep_ms(100);
    assert_false(stage->closed);
    stage_answer(stage, 0, "at last");
    expect_the_last(fd, "at last");
    assert_true(stage_end(stage, CLOCK_HANG_MS));
}

TEST_ON_STAGE(a_client_that_goes_ends_the_wait_for_it)
{
    stage->deaf = true;
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_begin_closing(stage);
    close(fd);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_int_equal(stage->hung_up, 1);
}

/* A stream with more written than its client's socket takes. */
static int stream_to_who_does_not_read(struct stage *stage, int place)
{
    static char piece[60001];
    int fd = ask_place(stage, "wait", place);
    memset(piece, 'x', sizeof piece - 1);
    stage_await_waiting(stage, place + 1);
    stage_stream(stage, place, NULL);
    while (!stage_has_unsent(stage, place)) {
        stage_write(stage, place, piece);
        clock_sleep_ms(5);
    }
    return fd;
}

/* It has closed its side only, so that what is unsent stays unsent. */
TEST_ON_STAGE(a_client_that_goes_without_reading_is_closed)
{
    stage->deaf = true;
    int fd = stream_to_who_does_not_read(stage, 0);
    shutdown(fd, SHUT_WR);
    stage_await_hung_up(stage, 1);
    stage_begin_closing(stage);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    close(fd);
}

/* Beside one that waits, a stream that waits for more, and one whose client does not read. Only
 * what is parked, which Redis bounds, is waited for longer. */
TEST_ON_STAGE(an_api_that_does_not_answer_does_not_hold_it_up)
{
    char head[WIRE_SIZE];
    int fds[4];
    stage->deaf = true;
    for (int i = 0; i < 2; i++)
        fds[i] = ask_place(stage, "wait", i);
    stage_await_waiting(stage, 2);
    stage_stream(stage, 1, NULL);
    read_head(fds[1], head);
    fds[2] = stream_to_who_does_not_read(stage, 2);
    fds[3] = ask_place(stage, "park", 3);
    stage_await_waiting(stage, 4);
    int64_t begun = clock_ms();
    stage_begin_closing(stage);
    ends(fds[0]);
    assert_true(clock_ms() - begun >= DEADLINE_MS - 5);
    clock_sleep_ms(100);
    assert_false(stage->closed);
    stage_answer(stage, 3, "last of all");
    expect_the_last(fds[3], "last of all");
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_int_equal(stage->hung_up, 3);
    ends(fds[1]);
    close(fds[2]);
}

TEST_ON_STAGE(an_idle_server_ends)
{
    int fd = ask(stage, "/now");
    expect_reply(fd, "now");
    stage_close(stage);
    ends(fd);
}

/* Its first request may be on its way. */
TEST_ON_STAGE(drain_waits_a_little_for_a_new_connection)
{
    int fd = raw_connect(stage->port);
    int64_t begun = clock_ms();
    stage_begin_closing(stage);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
    assert_true(clock_ms() - begun >= ARRIVAL_MS - 100);
    ends(fd);
}
