/* Signals to baton run, and what a command leaves behind. */
#include "tests/cli/story.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_gone(void *context)
{
    const pid_t *pid = context;
    return kill(*pid, 0) < 0 && errno == ESRCH;
}

static void ends_by(struct terminal *terminal, int signal, int code, const char *text)
{
    process_signal(&terminal->process, signal);
    ends(terminal, code, text);
}

/* tail speaks, since a shell that has just forked does not heed SIGINT. */
TEST_IN_STORY(signal_that_asks_to_end_reaches_all_descendants)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT};
    for (size_t i = 0; i < LENGTH(SIGNALS); i++) {
        terminal_start(terminal,
                       "exec $BATON run all -c 'echo \"near $$\" >said; tail -f said; :'");
        story->near = pid_said(story, "near ");
        ends_by(terminal, SIGNALS[i], 128 + SIGNALS[i], NULL);
        assert_true(is_free(client, "all"));
    }
}

/* As docker stop does. The first process of a namespace ends by no signal that it does not take. */
TEST_IN_STORY(signal_to_the_first_process_of_a_container_ends_it)
{
    static const struct {
        const char *command, *text;
    } CASES[] = {{"run first -c \"echo begun; sleep 600; :\"", "begun"}, {"watch first", "free"}};
    char command[300];
    if (terminal_run(terminal, "unshare --pid --fork --mount-proc true") != 0)
        skip(); /* only root may */
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        snprintf(command, sizeof command,
                 "unshare --pid --fork --mount-proc --kill-child sh -c 'exec $BATON %s' & "
                 "while ! pid=$(pgrep -P $!); do :; done; echo \"near $pid\"; wait $!",
                 CASES[i].command);
        terminal_start(terminal, command);
        story->near = pid_said(story, "near ");
        comes_to_say(terminal, CASES[i].text);
        kill(story->near, SIGTERM);
        ends(terminal, 128 + SIGTERM, NULL);
    }
}

/* What it has left behind has the time of -k. */
TEST_IN_STORY(command_ends_in_its_own_time_after_a_signal_and_leaves_nothing)
{
    terminal_start(terminal,
                   "exec $BATON run --ttl=6s -k 100ms own -c '"
                   "trap \"echo told\" TERM; sh -c \"trap : TERM; echo near \\$\\$; while :; do "
                   "sleep 600; done\" & until test -e go; do sleep 0.05; done; exit 9'");
    story->near = pid_said(story, "near ");
    process_signal(&terminal->process, SIGTERM);
    comes_to_say(terminal, "told");
    comes_to_be_renewed(client, "own");
    run_beside(terminal, "touch go");
    ends(terminal, 9, NULL);
    assert_true(is_gone(&story->near));
    assert_true(is_free(client, "own"));
}

TEST_IN_STORY(processes_that_a_command_leaves_behind_are_named_and_end_by_a_signal)
{
    char named[96];
    terminal_start(terminal, "exec $BATON run left -c 'setsid sh -c \"echo near \\$\\$; exec sleep "
                             "600\" & exit 5'");
    story->near = pid_said(story, "near ");
    snprintf(named, sizeof named, "left: the command has ended, and left behind: %d (sleep)\n",
             story->near);
    comes_to_say(terminal, named);
    ends_by(terminal, SIGTERM, 5, NULL);
    assert_true(is_gone(&story->near));
    says(terminal, 0, NULL, "$BATON run -q left -c 'sleep 1.2 & exit 0'");
    assert_string_equal(terminal->output, "");
}

TEST_IN_STORY(only_command_leaves_the_rest_alone)
{
    says(terminal, 5, "near ",
         "$BATON run -o only -c 'echo \"near $$\"; exec >/dev/null; echo \"exec sleep 600\" >nap; "
         "sh nap & echo $! >pid; exit 5'");
    assert_true(is_free(client, "only"));
    says(terminal, 0, NULL, "kill $(cat pid)"); /* it is still there */
}

/* Of a job that the shell had before. */
static void reaps_an_orphan(struct story *story)
{
    story->near = pid_said(story, "near ");
    kill(story->near, SIGKILL);
    assert_true(clock_wait_until(is_gone, &story->near, CLOCK_HANG_MS));
}

TEST_IN_STORY(orphans_are_reaped_while_the_command_runs_and_before)
{
    static const char COMMAND[] =
        "sleep 600 & echo near $!; exec $BATON run orphans -c 'echo begun; sleep 600'";
    char token[TOKEN_TEXT];
    terminal_start(terminal, COMMAND);
    comes_to_say(terminal, "begun");
    reaps_an_orphan(story);
    process_stop(&terminal->process);
    hold_as_ann(client, "orphans", token);
    terminal_start(terminal, COMMAND);
    comes_to_queue(client, "orphans", 1);
    reaps_an_orphan(story);
}

/* As under nohup. */
TEST_IN_STORY(signal_that_was_ignored_before_asks_nothing_to_end)
{
    terminal_start(terminal, "trap '' HUP; exec $BATON run ignored -c 'echo ready; until test -e "
                             "go; do sleep 0.05; done; sleep 600 & echo near $!; exit 3'");
    comes_to_say(terminal, "ready");
    process_signal(&terminal->process, SIGHUP);
    run_beside(terminal, "touch go");
    comes_to_say(terminal, "left behind: ");
    kill(pid_said(story, "near "), SIGKILL);
    ends(terminal, 3, NULL);
}

/* Without a shell between, the kernel tells baton run alone. */
TEST_IN_STORY(hangup_of_the_terminal_of_baton_alone_ends_the_command)
{
    terminal_start(terminal, "exec script -qec \"exec $BATON run --ttl=1h hangup -c 'echo begun; "
                             "sleep 600; :'\" /dev/null");
    comes_to_say(terminal, "begun");
    process_kill(&terminal->process);
    comes_to_be_free(client, "hangup");
}

RUN_TESTS(story_open, story_close)
