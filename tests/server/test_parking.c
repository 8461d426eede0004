/* Requests that wait: they are answered when the API says so, and a client that goes is noticed at
 * once, in whatever way it goes and whatever else happens in that moment. */
#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 1000 };

TEST_ON_STAGE(waiting_request_is_answered_and_may_wait_again)
{
    int fd = ask(stage, "/now");
    expect_reply(fd, "now");
    for (int i = 0; i < 3; i++) {
        say(fd, "/wait/1");
        stage_await_waiting(stage, 1);
        assert_int_equal(stage->metrics.waiting, 1);
        stage_answer(stage, 1, "your turn");
        expect_reply(fd, "your turn");
        say(fd, "/turn");
        expect_reply(fd, "turn");
    }
    close(fd);
    assert_int_equal(stage->hung_up, 0);
}

TEST_ON_STAGE(a_client_that_goes_is_noticed)
{
    int closing = ask_place(stage, "wait", 0), resetting = ask_place(stage, "wait", 1),
        half = ask_place(stage, "wait", 2), staying = ask_place(stage, "wait", 3);
    stage_await_waiting(stage, 4);
    close(closing);
    stage_await_hung_up(stage, 1);
    reset(resetting);
    stage_await_hung_up(stage, 2);
    shutdown(half, SHUT_WR);
    ends(half);
    stage_await_hung_up(stage, 3);
    assert_int_equal(stage->metrics.hung_up, 3);
    assert_int_equal(stage->metrics.waiting, 1);
    stage_answer(stage, 3, "still there");
    expect_reply(staying, "still there");
    close(staying);
    assert_int_equal(stage->hung_up, 3);
}

/* Half-closed before the server has read the request, let alone waited. */
TEST_ON_STAGE(client_that_left_before_it_waits_is_noticed)
{
    int fd = ask_place(stage, "wait", 0);
    shutdown(fd, SHUT_WR);
    ends(fd);
    stage_await_hung_up(stage, 1);
}

TEST_ON_STAGE(bytes_that_come_while_it_waits_are_no_hang_up)
{
    int fd = ask_place(stage, "wait", 0), leaver = ask_place(stage, "wait", 1);
    stage_await_waiting(stage, 2);
    say(fd, "/now");
    say(fd, "/turn");
    say(leaver, "/now");
    clock_sleep_ms(20);
    assert_int_equal(stage->waiting, 2);
    stage_answer(stage, 0, "first");
    expect_reply(fd, "first");
    expect_reply(fd, "now");
    expect_reply(fd, "turn");
    close(fd);
    assert_int_equal(stage->hung_up, 0);
    close(leaver); /* with a request unread */
    stage_await_hung_up(stage, 1);
}

static void look(struct stage *stage, void *context)
{
    struct exchange *exchange = stage->places[0];
    *(bool *)context = exchange->is_connected(exchange);
}

/* Holds the loop, so that nothing is noticed by itself. */
static void close_and_look(struct stage *stage, void *context)
{
    int *fd = context;
    bool connected;
    close(*fd);
    look(stage, &connected);
    *fd = connected;
}

TEST_ON_STAGE(the_api_can_look_at_the_socket)
{
    bool connected = false;
    int fd = ask_place(stage, "wait", 0);
    stage_await_waiting(stage, 1);
    stage_do(stage, look, &connected);
    assert_true(connected);
    stage_do(stage, close_and_look, &fd);
    assert_false(fd);
    stage_await_hung_up(stage, 1);
}

static void close_and_answer(struct stage *stage, void *context)
{
    close(*(int *)context);
    stage_answer_here(stage, 0, "too late");
}

/* The answer comes first and the hang-up is noticed in the same turn, if at all: nobody is told
 * twice, and a grant comes back. */
TEST_ON_STAGE(an_answer_wins_over_a_hang_up_of_the_same_turn)
{
    for (int i = 0; i < 100; i++) {
        int fd = ask_place(stage, i % 2 ? "grant" : "wait", 0);
        stage_await_waiting(stage, 1);
        stage_do(stage, close_and_answer, &fd);
        stage_await_waiting(stage, 0);
    }
    stage_close(stage);
    assert_int_equal(stage->hung_up, 0);
    assert_int_equal(stage->undelivered, 50);
}

/* The one way or the other, as it happens. */
TEST_ON_STAGE(answers_and_hang_ups_may_race)
{
    enum { ROUNDS = 300 };
    for (int i = 0; i < ROUNDS; i++) {
        int fd = ask_place(stage, "grant", 0);
        stage_await_waiting(stage, 1);
        if (i % 3 == 0)
            reset(fd);
        else
            close(fd);
        for (volatile int spin = 0; spin < i * 50; spin++)
            ;
        stage_answer(stage, 0, "perhaps");
        stage_await_waiting(stage, 0);
    }
    stage_close(stage);
    assert_int_equal(stage->hung_up + stage->undelivered, ROUNDS);
}

/* In place of a grant to a client that has gone and of which nobody has told yet. */
TEST_ON_STAGE(a_grant_is_not_sent_to_who_has_gone)
{
    int fd = ask_place(stage, "grant", 0);
    stage_await_waiting(stage, 1);
    stage_do(stage, close_and_answer, &fd);
    int other = ask(stage, "/now");
    expect_reply(other, "now");
    close(other);
    assert_int_equal(stage->undelivered, 1);
    assert_int_equal(stage->metrics.undelivered, 1);
}

static void close_all(struct stage *stage, void *context)
{
    int *fds = context;
    (void)stage;
    for (int i = 0; i < MANY; i++)
        if (i % 3)
            close(fds[i]);
        else
            reset(fds[i]);
}

TEST_ON_STAGE(a_thousand_may_go_at_once)
{
    static int fds[MANY];
    for (int i = 0; i < MANY; i++)
        fds[i] = ask_place(stage, "wait", i);
    stage_await_waiting(stage, MANY);
    stage_do(stage, close_all, fds); /* all of it is there when the loop goes on */
    stage_await_hung_up(stage, MANY);
    int fd = ask(stage, "/now");
    expect_reply(fd, "now");
    close(fd);
    assert_int_equal(stage->metrics.waiting, 0);
}

static void answer_all(struct stage *stage, void *context)
{
    (void)context;
    for (int i = 0; i < MANY; i++)
        stage_answer_here(stage, i, "all of you");
}

TEST_ON_STAGE(a_thousand_may_be_answered_at_once)
{
    static int fds[MANY];
    for (int i = 0; i < MANY; i++)
        fds[i] = ask_place(stage, "wait", i);
    stage_await_waiting(stage, MANY);
    stage_do(stage, answer_all, NULL);
    for (int i = 0; i < MANY; i++) {
        expect_reply(fds[i], "all of you");
        say(fds[i], "/turn");
        expect_reply(fds[i], "turn");
        close(fds[i]);
    }
    assert_int_equal(stage->hung_up, 0);
}

/* The first to hang up makes the API answer the others, whose hang-ups are known by then. */
static struct stage *chained;

static void hang_up_and_answer_others(struct exchange *exchange)
{
    chained->hung_up++;
    for (int i = 0; i < STAGE_PLACES; i++) {
        if (chained->places[i] == exchange) {
            chained->places[i] = NULL;
            chained->waiting--;
        }
    }
    for (int i = 0; i < 10; i++)
        stage_answer_here(chained, i, "yours");
}

static void chain_and_close(struct stage *stage, void *context)
{
    int *fds = context;
    for (int i = 0; i < 10; i++) {
        stage->places[i]->hung_up = hang_up_and_answer_others;
        close(fds[i]);
    }
}

TEST_ON_STAGE(a_hang_up_may_answer_those_that_hang_up_with_it)
{
    int fds[10];
    chained = stage;
    for (int i = 0; i < 10; i++)
        fds[i] = ask_place(stage, "grant", i);
    stage_await_waiting(stage, 10);
    stage_do(stage, chain_and_close, fds);
    stage_await_waiting(stage, 0);
    stage_close(stage);
    assert_int_equal(stage->hung_up, 1);
    assert_int_equal(stage->undelivered, 9);
}

/* The descriptor of one that has gone is at once that of the next. */
TEST_ON_STAGE(descriptors_are_used_again)
{
    for (int i = 0; i < 200; i++) {
        int fd = ask_place(stage, "wait", i % 2);
        stage_await_waiting(stage, 1);
        if (i % 4 == 3) {
            stage_answer(stage, i % 2, "again");
            expect_reply(fd, "again");
        }
        close(fd);
        stage_await_waiting(stage, 0);
    }
    stage_await_hung_up(stage, 150);
}

TEST_ON_STAGE(no_more_are_served_than_there_are_places)
{
    struct stage few;
    int fds[4];
    stage_open(&few, 3);
    for (int i = 0; i < 4; i++)
        fds[i] = ask(&few, "/now");
    for (int i = 0; i < 3; i++)
        expect_reply(fds[i], "now");
    is_quiet(fds[3], 150);
    close(fds[0]);
    expect_reply(fds[3], "now");
    for (int i = 1; i < 4; i++)
        close(fds[i]);
    stage_close(&few);
}
