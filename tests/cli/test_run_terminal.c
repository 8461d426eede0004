/* baton in an interactive bash on a terminal: with baton run, what a user does with keys works as
 * without it; a table is no wider than the terminal. */
#include "tests/cli/story.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCREEN_TEXT = 1 << 16 };

#define CTRL_C "\x03"
#define CTRL_D "\x04"
#define CTRL_Q "\x11"
#define CTRL_S "\x13"
#define CTRL_Z "\x1a"

/* A terminal with a shell that has job control. */
struct window {
    struct story *story;
    int master;
    pid_t shell;
    size_t length, seen; /* of the screen */
    char screen[SCREEN_TEXT];
};

static void window_type(const struct window *window, const char *keys)
{
    assert_int_equal(write(window->master, keys, strlen(keys)), strlen(keys));
}

/* Reads until the text is there, behind what was seen before. */
static void window_await(struct window *window, const char *text)
{
    char *found;
    while (!(found = strstr(window->screen + window->seen, text))) {
        struct pollfd polled = {.fd = window->master, .events = POLLIN};
        ssize_t got = 0;
        if (poll(&polled, 1, CLOCK_HANG_MS) == 1 && window->length < SCREEN_TEXT - 1)
            got = read(window->master, window->screen + window->length,
                       SCREEN_TEXT - 1 - window->length);
        if (got <= 0)
            fail_msg("no `%s` in %s", text, window->screen + window->seen);
        window->length += (size_t)got;
        window->screen[window->length] = '\0';
    }
    window->seen = (size_t)(found - window->screen) + strlen(text);
}

/* The line that bash prints of a job that has stopped has the command, as that of fg has. Its
 * prompt is next. */
static void window_await_stop(struct window *window)
{
    window_await(window, "Stopped");
    window_await(window, "BATON run");
    window_await(window, "\n$ ");
}

/* Of what is typed right behind a stop, bash without its editor lost the first character, once in
 * some runs: that is a space. */
static void window_continue(struct window *window)
{
    window_type(window, " fg; echo status $?\n");
    window_await(window, "fg; echo status");
    window_await(window, "BATON run");
}

/* Without a line editor, so that what is typed is echoed as it is. */
static int window_open(void **state)
{
    const char *program = getenv("BATON_TEST_BATON");
    struct window *window = calloc(1, sizeof *window);
    if (!window || story_open((void **)&window->story) != 0)
        abort();
    const struct story *story = window->story;
    assert_non_null(program);
    window->shell = forkpty(&window->master, NULL, NULL, NULL);
    if (window->shell == 0) {
        setenv("HOME", story->terminal.dir.path, 1);
        setenv("BATON", program, 1);
        setenv("BATON_URL", story->service.batond.url, 1);
        setenv("PS1", "$ ", 1);
        setenv("TERM", "dumb", 1);
        execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL);
        _exit(1);
    }
    assert_true(window->shell > 0);
    window_type(window, "cd; echo rea''dy\n");
    window_await(window, "ready");
    *state = window;
    return 0;
}

static int window_close(void **state)
{
    struct window *window = *state;
    close(window->master);
    kill(window->shell, SIGHUP);
    waitpid(window->shell, NULL, 0);
    story_close((void **)&window->story);
    free(window);
    return 0;
}

#define TEST_IN_WINDOW(name) TEST_ON(struct window *window, name, window_open, window_close)

/* Here and below tail speaks: a shell does not heed a SIGINT between what it prints and what it
 * waits for. */
TEST_IN_WINDOW(ctrl_c_ends_the_command)
{
    window_type(window, "$BATON run held -c 'echo beg''un >said; exec tail -f said'\n");
    window_await(window, "begun\r\n");
    window_type(window, CTRL_C);
    window_type(window, "echo status $?\n");
    window_await(window, "status 130");
}

TEST_IN_WINDOW(command_that_takes_ctrl_c_goes_on)
{
    window_type(window, "$BATON run held -c 'trap \"echo tak\"\"en\" INT; echo beg''un >said; "
                        "tail -f said; read x; read x; echo \"got $x\"'\n");
    window_await(window, "begun\r\n");
    window_type(window, CTRL_C);
    window_await(window, "taken\r\n");
    size_t once = window->seen;
    window_type(window, "word\nword\n");
    window_await(window, "got word");
    assert_null(strstr(window->screen + once, "taken"));
}

TEST_IN_WINDOW(ctrl_c_ends_what_the_command_has_left_behind)
{
    window_type(window, "$BATON run held -c 'setsid sleep 600 & exit 4'\n");
    window_await(window, "left behind: ");
    window_type(window, CTRL_C);
    window_type(window, "echo status $?\n");
    window_await(window, "status 4");
}

TEST_IN_WINDOW(ctrl_s_stops_no_renewal)
{
    window_type(window, "$BATON run -v --ttl=6s held -c 'echo beg''un; read x; exit 6'\n");
    window_await(window, "begun\r\n");
    window_type(window, CTRL_S);
    comes_to_be_renewed(window->story->service.client, "held");
    window_type(window, CTRL_Q);
    window_await(window, "held: renewed, ");
    window_type(window, "word\n");
    window_await(window, "held: released");
}

TEST_IN_WINDOW(ctrl_z_stops_the_job_and_fg_continues_it)
{
    window_type(window, "$BATON run --ttl=1h held -c 'echo beg''un; read x; echo \"got $x\"'\n");
    window_await(window, "begun\r\n");
    window_type(window, CTRL_Z);
    window_await(window, "held: nobody renews the lock of a stopped job");
    window_await_stop(window);
    window_continue(window);
    window_type(window, "word\n");
    window_await(window, "got word");
    window_await(window, "status 0");
}

TEST_IN_WINDOW(stopped_job_is_reported_once_and_ended_in_time)
{
    window_type(window, "$BATON run --ttl=12s held -c 'trap \"echo ag\"\"ain\" CONT; echo beg''un; "
                        "while :; do sleep 0.05; done'\n");
    window_await(window, "begun\r\n");
    window_type(window, CTRL_Z);
    window_await(window, "nobody renews the lock of a stopped job. Continue it within ");
    const char *seconds = window->screen + window->seen;
    window_await(window, " s, or");
    assert_int_equal(seconds[1], '.'); /* of 12 s at most 9 are left, and perhaps none whole */
    window_await_stop(window);
    window_continue(window);
    window_await(window, "again\r\n"); /* SIGCONT would take a stop back that came before it */
    size_t before = window->seen;
    window_type(window, CTRL_Z);
    window_await_stop(window);
    window_await(window, "no batond has renewed the lock in time");
    assert_null(strstr(window->screen + before, "nobody renews"));
    window_type(window, "wait %1; echo status $?\n");
    window_await(window, "status 76");
}

TEST_IN_WINDOW(list_cuts_and_leaves_out_what_does_not_fit)
{
    window_type(window, "stty cols 50; $BATON acquire -n --owner=somebody@a.long.example "
                        "name-of-21-characters; $BATON list; $BATON list | cat\n");
    window_await(window, "name-of-21-c… exclusive somebody@a.… ");
    window_await(window, "\nname-of-21-characters exclusive somebody@a.long.example 127.0.0.1 ");
}

TEST_IN_WINDOW(pipeline_has_the_command_in_its_middle)
{
    window_type(window, "echo typed | $BATON run held -- cat | tr a-z A-Z\n");
    window_await(window, "TYPED");
    window_type(window, "$BATON run held -- yes | head -n 1; echo status ${PIPESTATUS[0]}\n");
    window_await(window, "status 141");
}

TEST_IN_WINDOW(background_job_reads_the_terminal_after_fg)
{
    window_type(window, "$BATON run --ttl=1h held -- cat &\n");
    window_type(window, "until jobs | grep -q Stop''ped; do sleep 0.1; done; echo fo''und\n");
    window_await(window, "found\r\n");
    window_continue(window);
    window_type(window, "word\n");
    window_await(window, "word\r\n"); /* the echo */
    window_await(window, "word\r\n");
    window_type(window, CTRL_D);
    window_await(window, "status 0");
}

TEST_IN_WINDOW(hangup_ends_command_and_lock)
{
    window_type(window, "$BATON run --ttl=1h held -c 'echo beg''un; sleep 600'\n");
    window_await(window, "begun\r\n");
    close(window->master);
    window->master = -1;
    comes_to_be_free(window->story->service.client, "held");
}
