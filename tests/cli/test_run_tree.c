/* baton run ends what is hard to find or to end, and says what it cannot end. */
#include "tests/cli/story.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHERS = 200 };

/* A user who may kill nobody else. The working directory cannot be reached by its name. */
#define FOR_NOBODY "chmod 755 .; cp $BATON baton; "
#define AS_NOBODY  "env XDG_CONFIG_HOME=/none setpriv --reuid=65534 --regid=65534 --clear-groups "

/* /proc shows nobody the processes of others, nor those whose program may not be read. */
TEST_IN_STORY(hidden_tree_is_ended)
{
    if (terminal_run(terminal, "unshare --mount mount -t proc -o hidepid=2 proc /proc") != 0)
        skip(); /* only root may */
    says(terminal, 0, NULL,
         FOR_NOBODY "cp /bin/sh shell; chmod 711 shell; cat >tree <<'END'\n"
                    "trap '' TERM; echo \"near $$\"\n"
                    "./shell -c 'echo \"far $$\"; sleep 600 & wait' & sleep 600; sleep 600\nEND");
    terminal_start(
        terminal,
        "exec unshare --mount sh -c 'mount -t proc -o hidepid=2 proc /proc; exec " AS_NOBODY
        "./baton run --ttl=1m hidden -- ./shell tree'");
    story->near = pid_said(story, "near ");
    story->far = pid_said(story, "far ");
    answers(client, "DELETE /locks/hidden?force=true", NULL, 200, NULL);
    ends(terminal, 76, "the lock is lost");
    assert_true(tree_is_gone(story));
}

TEST_IN_STORY(tree_is_ended_where_no_file_can_be_opened)
{
    start_tree(story, "full", "6s", "");
    assert_int_equal(prlimit(story->guard, RLIMIT_NOFILE, &(struct rlimit){0, 0}, NULL), 0);
    answers(client, "DELETE /locks/full?force=true", NULL, 200, NULL);
    ends(terminal, 76, "the lock is lost");
    assert_true(tree_is_gone(story));
}

/* As what a killed guard leaves. */
TEST_IN_STORY(front_ends_the_tree_where_no_file_can_be_opened)
{
    const char *baton = getenv("BATON_TEST_BATON");
    if (baton && strstr(baton, "/address/"))
        skip(); /* LeakSanitizer opens files at the end */
    start_tree(story, "full", "6s", "");
    assert_int_equal(prlimit(terminal->process.pid, RLIMIT_NOFILE, &(struct rlimit){0, 0}, NULL),
                     0);
    kill(story->guard, SIGKILL);
    ends(terminal, 70, "guard");
    assert_true(tree_is_gone(story));
}

static long read_calls_of(pid_t pid)
{
    char path[64];
    long calls = 0;
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%*s %*d %*s %*d syscr: %ld", &calls) != 1)
        fail_msg("%s does not count calls", path);
    fclose(file);
    return calls;
}

/* Processes that have nothing to do with baton run. */
static void others_start(pid_t others[OTHERS])
{
    pid_t test = getpid();
    for (int i = 0; i < OTHERS; i++) {
        others[i] = fork();
        assert_true(others[i] >= 0);
        if (others[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (getppid() == test)
                pause();
            _exit(0);
        }
    }
}

static void others_end(const pid_t others[OTHERS])
{
    for (int i = 0; i < OTHERS; i++)
        kill(others[i], SIGKILL);
    for (int i = 0; i < OTHERS; i++)
        waitpid(others[i], NULL, 0);
}

/* A machine may have 20,000, and some milliseconds are left before the lock ends. The guard is
 * there to be looked at until the test ends its children. */
TEST_IN_STORY(other_processes_of_the_machine_cost_nothing)
{
    pid_t others[OTHERS];
    others_start(others);
    terminal_start(terminal, "exec $BATON run --ttl=1h -k 15m many -c 'trap \"echo asked\" TERM; "
                             "echo \"guard $PPID\"; while :; do sleep 600; done'");
    story->guard = pid_said(story, "guard ");
    answers(client, "DELETE /locks/many?force=true", NULL, 200, NULL);
    comes_to_say(terminal, "asked");
    long calls = read_calls_of(story->guard);
    kill(story->guard, SIGKILL); /* the front ends what is left */
    others_end(others);
    assert_true(calls > 0);
    assert_true(calls < OTHERS);
}

/* One look at them does not find all before some have ended. Each lives for a millisecond, so that
 * the machine does not run out of pids where the guard gets little time to reap. The open file that
 * they inherit has a lock as long as one of them lives. */
TEST_IN_STORY(processes_that_fork_and_end_again_and_again_are_ended)
{
    terminal_start(terminal,
                   "exec $BATON run --ttl=8s chain -- perl -e '$SIG{TERM} = \"IGNORE\"; $| = 1; "
                   "open F, \">alive\"; flock F, 2; print \"begun\\n\"; fork for 1..4; "
                   "while (time < $^T + 100) { exit if fork; select undef, undef, undef, .001 }'");
    comes_to_say(terminal, "begun");
    process_signal(&story->service.batond.process, SIGSTOP);
    int code = terminal_await(terminal);
    process_signal(&story->service.batond.process, SIGCONT);
    terminal_says(terminal, code, 76, " by SIGKILL)", __FILE__, __LINE__);
    says(terminal, 0, NULL, "flock --nonblock alive true");
}

/* The loss is told before the end of a command that does not end. */
TEST_IN_STORY(process_that_could_not_be_ended_is_named_with_its_delay)
{
    char named[64];
    if (terminal_run(terminal,
                     FOR_NOBODY "cp $(command -v setpriv) root; chmod 4755 root; test 0 = "
                                "\"$(" AS_NOBODY "./root --reuid=0 id -u)\"") != 0)
        skip(); /* only root can make such a program */
    terminal_start(terminal, "exec " AS_NOBODY "./baton run --ttl=8s stuck -- ./root --reuid=0 sh "
                             "-c 'echo \"near $$\"; exec sleep 600'");
    story->near = pid_said(story, "near ");
    process_signal(&story->service.batond.process, SIGSTOP);
    comes_to_say(terminal, "stuck: no batond has renewed the lock in time");
    snprintf(named, sizeof named, "stuck: could not be ended: %d (sleep)\n", story->near);
    comes_to_say(terminal, named);
    clock_sleep_ms(10); /* it was said when the lock ended */
    kill(story->near, SIGKILL);
    int code = terminal_await(terminal);
    process_signal(&story->service.batond.process, SIGCONT);
    terminal_says(terminal, code, 76, " ms too late.", __FILE__, __LINE__);
    assert_null(strstr(terminal->output, "before the lock"));
}

TEST_IN_STORY(run_is_refused_where_no_timer_can_be_had)
{
    says(terminal, 70, "cannot make a timer (ulimit -i",
         "ulimit -i 0; exec $BATON run x -c 'echo begun'");
    assert_null(strstr(terminal->output, "begun"));
    if (geteuid() != 0)
        skip();
    /* The first timer is that of the front, the second one that of the guard. */
    says(terminal, 70, "x: cannot make a timer (ulimit -i",
         FOR_NOBODY "ulimit -i 1; exec env XDG_CONFIG_HOME=/none setpriv --reuid=%d --clear-groups "
                    "./baton run x -c 'echo begun'",
         (int)getpid() + 100000);
    assert_null(strstr(terminal->output, "begun"));
}

RUN_TESTS(story_open, story_close)
