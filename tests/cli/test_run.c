/* baton run: the command has the lock as long as it runs, and does not outlive it. */
#include "tests/cli/story.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_IN_STORY(exit_status_is_that_of_the_command)
{
    says(terminal, 0, "hello", "$BATON run ends -- echo hello");
    says(terminal, 7, NULL, "$BATON run ends -c 'exit 7'");
    says(terminal, 127, "cannot run ./nothing", "$BATON run ends -- ./nothing");
    says(terminal, 126, "cannot run /", "$BATON run ends -- /");
    says(terminal, 0, NULL,
         "(ulimit -c 0; $BATON run ends -c 'kill -USR1 $$'); (($? == 128 + 10))");
    assert_true(is_free(client, "ends"));
}

TEST_IN_STORY(command_has_input_name_and_fence)
{
    says(terminal, 0, "typed", "echo typed | $BATON run input -- cat");
    says(terminal, 0, "name input fence 1",
         "$BATON run input -c 'echo name $BATON_NAME fence $BATON_FENCE'");
}

TEST_IN_STORY(command_has_the_descriptors_of_its_caller_alone)
{
    says(terminal, 0, "the same",
         "exec 7</dev/null 9</dev/null; shows='ls /proc/$$/fd; true'; sh -c \"$shows\" >before; "
         "grep -q 9 before && $BATON run descriptors -c \"$shows\" | cmp before && echo the same");
}

TEST_IN_STORY(wrong_use_of_run_is_refused)
{
    says(terminal, 64, "Give a command behind \"--\"", "$BATON run x true");
    says(terminal, 64, "Those of COMMAND stand behind \"--\"", "$BATON run x ls -l");
    says(terminal, 64, "a name is missing: baton run", "$BATON run -- true");
    says(terminal, 64, "Give a command", "$BATON run -c true x -- true");
    says(terminal, 64, "3s", "$BATON run --ttl=2s x -- true");
    says(terminal, 69, "no batond answered",
         "$BATON run --patience=0 --url=http://127.0.0.1:1 x -- true");
}

TEST_IN_STORY(run_waits_for_the_lock_or_is_silent_with_n)
{
    char token[TOKEN_TEXT];
    hold_as_ann(client, "turn", token);
    says(terminal, 75, NULL, "$BATON run -n turn -- echo runs");
    assert_string_equal(terminal->output, "");
    says(terminal, 75, NULL, "$BATON run -nvq turn -- echo runs");
    assert_string_equal(terminal->output, "");
    says(terminal, 75, "turn: The lock is taken\n  Held by ann for ",
         "$BATON run -nv turn -- echo runs");
    assert_non_null(strstr(terminal->output, "Without -n, baton waits for it.\n"));
    terminal_start(terminal, "$BATON run turn -- echo runs");
    comes_to_queue(client, "turn", 1);
    release(client, "turn", token);
    ends(terminal, 0, "runs");
}

TEST_IN_STORY(lock_is_held_until_the_last_descendant_ends)
{
    says(terminal, 0, NULL, "mkfifo gate");
    terminal_start(
        terminal,
        "exec $BATON run --ttl=6s last -c '(read line <gate; echo opened) & echo $$; exit 5'");
    assert_true(process_wait_line(&terminal->process, "", NULL, NULL, 0, CLOCK_HANG_MS));
    comes_to_be_renewed(client, "last");
    run_beside(terminal, "echo >gate");
    ends(terminal, 5, "opened");
    assert_true(is_free(client, "last"));
}

/* As systemd stops a unit: each process of it gets SIGTERM. */
TEST_IN_STORY(signal_to_all_processes_ends_the_command_alone)
{
    terminal_start(terminal, "exec $BATON run unit -c 'echo \"guard $PPID\"; echo \"near $$\"; "
                             "exec sleep 600'");
    story->guard = pid_said(story, "guard ");
    story->near = pid_said(story, "near ");
    kill(story->guard, SIGTERM);
    kill(story->near, SIGTERM);
    process_signal(&terminal->process, SIGTERM);
    ends(terminal, 128 + SIGTERM, NULL);
    assert_null(strstr(terminal->output, "baton: "));
    assert_true(is_free(client, "unit"));
}

TEST_IN_STORY(broken_lock_ends_the_whole_tree)
{
    start_tree(story, "broken", "1m", "");
    answers(client, "DELETE /locks/broken?force=true&reason=moved", NULL, 200, NULL);
    ends(terminal, 76, "broken: the lock is lost: it was broken ");
    assert_non_null(strstr(terminal->output, " ago from 127.0.0.1: moved\n"));
    assert_true(tree_is_gone(story));
}

static bool has_a_watcher(void *context)
{
    struct http_client *client = context;
    answers(client, "GET /metrics", NULL, 200, NULL);
    return strstr(client->reply.body, "\nbaton_watchers 1\n");
}

/* The first renewal is due after 20 minutes. */
TEST_IN_STORY(break_is_noticed_before_the_next_renewal)
{
    terminal_start(terminal, "exec $BATON run --ttl=1h heard -- sleep 600");
    assert_true(clock_wait_until(has_a_watcher, client, CLOCK_HANG_MS));
    answers(client, "DELETE /locks/heard?force=true", NULL, 200, NULL);
    ends(terminal, 76, "the lock is lost");
}

/* Signals for batond, and for the two processes of baton run; and how that ends. */
struct fault {
    const char *name;
    int batond, front, guard, code;
    const char *said, *trap;
    bool frees;         /* the lock at once */
    bool is_end_of_ttl; /* which ends the tree */
};

/* Where the front gets a signal, and a guard is there to end the tree, nothing is said of the order
 * in which both end. A front whose guard runs is continued by nobody else. */
static void tree_ends_by(struct story *story, const struct fault *fault)
{
    print_message("%s\n", fault->name);
    start_tree(story, fault->name, fault->is_end_of_ttl ? "10s" : "1m",
               fault->trap ? fault->trap : "");
    process_signal(&story->service.batond.process, fault->batond); /* 0: none */
    process_signal(&story->terminal.process, fault->front);
    kill(story->guard, fault->guard);
    bool is_gone = fault->front && fault->guard != SIGKILL &&
                   clock_wait_until(tree_is_gone, story, CLOCK_HANG_MS);
    if (fault->front == SIGSTOP && !fault->guard)
        process_signal(&story->terminal.process, SIGCONT);
    int code = terminal_await(&story->terminal);
    is_gone = is_gone || tree_is_gone(story);
    process_signal(&story->service.batond.process, SIGCONT);
    terminal_says(&story->terminal, code, fault->code, fault->said, __FILE__, __LINE__);
    assert_true(is_gone);
    assert_true(!fault->frees || is_free(story->service.client, fault->name));
}

TEST_IN_STORY(whole_tree_ends_at_any_fault)
{
    static const struct fault FAULTS[] = {
        {"silent", .batond = SIGSTOP, .code = 76, .said = "baton: silent: ", .is_end_of_ttl = true},
        {"front", .front = SIGKILL, .code = 128 + SIGKILL},
        /* without a need for SIGKILL, at any load */
        {"stopped", .front = SIGSTOP, .code = 76, .trap = "exit 1", .is_end_of_ttl = true},
        {"guard", .guard = SIGKILL, .code = 70, .said = "guard", .frees = true},
        /* The kernel continues it when there is something to do. */
        {"frozen", .batond = SIGSTOP, .guard = SIGSTOP, .code = 76, .said = "of them by SIGKILL",
         .is_end_of_ttl = true},
        /* Nobody renews, and nobody but the kernel can wake the guard: the tree is dead before the
         * TTL is over, on any machine that runs anything in an eighth of it. */
        {"both", .front = SIGSTOP, .guard = SIGSTOP, .code = 76, .said = "of them by SIGKILL",
         .is_end_of_ttl = true},
        /* What the guard leaves comes to the front, which the kernel continues. */
        {"left", .front = SIGSTOP, .guard = SIGKILL, .code = 70, .said = "guard",
         .is_end_of_ttl = true},
    };
    for (size_t i = 0; i < LENGTH(FAULTS); i++)
        tree_ends_by(story, &FAULTS[i]);
}

static bool guard_is_stopped(void *context)
{
    const struct story *story = context;
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", story->guard);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'T';
}

static bool guard_goes_on(void *context)
{
    return !guard_is_stopped(context);
}

/* The kernel continues it at the end that it knows; the renewals since then put that off. */
TEST_IN_STORY(stopped_guard_is_continued_and_lets_a_command_run_whose_lock_is_renewed)
{
    says(terminal, 0, NULL, "mkfifo go");
    terminal_start(terminal, "exec $BATON run --ttl=6s renewed -c "
                             "'echo \"guard $PPID\"; read line <go; exit 5'");
    story->guard = pid_said(story, "guard ");
    kill(story->guard, SIGSTOP);
    assert_true(clock_wait_until(guard_is_stopped, story, CLOCK_HANG_MS));
    assert_true(clock_wait_until(guard_goes_on, story, CLOCK_HANG_MS));
    run_beside(terminal, "echo >go");
    ends(terminal, 5, NULL);
}

RUN_TESTS(story_open, story_close)
