/* The options of baton run: what ends the command, what does not, and what it is told. */
#include "tests/cli/story.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TEST_IN_STORY(wrong_value_is_refused)
{
    says(terminal, 64, "Give kill or ignore", "$BATON run --on-lost=stay x -- true");
    says(terminal, 64, "Give fail or run", "$BATON run --if-unavailable=r x -- true");
    says(terminal, 64, "such as TERM", "$BATON run --signal=TERMINATE x -- true");
    says(terminal, 64, "from 1s", "$BATON run --max-held=10ms x -- true");
    says(terminal, 64, "needs the name of a file", "$BATON run --token-file=- x -- true");
}

TEST_IN_STORY(run_is_refused_where_proc_does_not_show_the_command)
{
    if (terminal_run(terminal, "unshare --pid --fork true") != 0)
        skip(); /* only root may */
    says(terminal, 70, "/proc does not show", "unshare --pid --fork $BATON run x -- true");
}

TEST_IN_STORY(signal_option_ends_the_command)
{
    terminal_start(terminal,
                   "exec $BATON run --signal=SIGINT --ttl=1h asked -c '"
                   "trap : TERM; trap \"echo interrupted; exit\" INT; echo ready; while :; do "
                   "sleep 0.05; done'");
    comes_to_say(terminal, "ready");
    answers(client, "DELETE /locks/asked?force=true", NULL, 200, NULL);
    ends(terminal, 76, "interrupted");
}

TEST_IN_STORY(max_held_ends_the_command_with_124)
{
    says(terminal, 124, "max-held is over\n  Ended sh (",
         "$BATON run --max-held=1s brief -c 'sleep 600 & sleep 600'");
    assert_true(is_free(client, "brief"));
}

TEST_IN_STORY(max_held_of_batond_ends_the_command_with_124)
{
    static const char *const FLAGS[] = {"--max-held=4s", NULL};
    struct batond_process batond;
    struct http_client *other = batond_open(&batond, story->service.redis.url, FLAGS);
    says(terminal, 124, "max-held is over", "$BATON run --ttl=3s --url=%s bounded -- sleep 600",
         batond.url);
    batond_close(&batond, other);
}

TEST_IN_STORY(lost_lock_is_ignored_if_asked)
{
    terminal_start(terminal, "exec $BATON run --ttl=1m --on-lost=ignore kept -c 'echo ready; until "
                             "test -e go; do sleep 0.05; done; exit 5'");
    comes_to_say(terminal, "ready");
    answers(client, "DELETE /locks/kept?force=true", NULL, 200, NULL);
    comes_to_say(terminal, "kept: the lock is lost (");
    run_beside(terminal, "touch go");
    ends(terminal, 5, "The command runs on.");
}

TEST_IN_STORY(silent_batond_is_ignored_if_asked)
{
    terminal_start(terminal, "exec $BATON run --ttl=8s --on-lost=ignore quiet -c 'echo ready; "
                             "until test -e gone; do sleep 0.05; done; exit 6'");
    comes_to_say(terminal, "ready");
    process_signal(&story->service.batond.process, SIGSTOP);
    comes_to_say(terminal, "no batond has renewed the lock in time (");
    process_signal(&story->service.batond.process, SIGCONT);
    run_beside(terminal, "touch gone");
    ends(terminal, 6, NULL);
}

TEST_IN_STORY(command_runs_without_batond_if_asked)
{
    says(terminal, 69, NULL, "$BATON run --patience=0 --url=http://127.0.0.1:1 x -- echo hello");
    assert_null(strstr(terminal->output, "hello"));
    says(terminal, 4, "without the lock",
         "$BATON run --patience=0 --url=http://127.0.0.1:1 --if-unavailable=run x -c 'exit 4'");
    says(terminal, 4, "without the lock", /* SIGTERM comes at 15 s */
         "$BATON run --patience=0 --url=http://127.0.0.1:1 --if-unavailable=run --ttl=1h "
         "--max-held=20s "
         "--kill-after=20s x -c 'sleep 0.1; exit 4'");
    says(terminal, 124, "max-held is over",
         "$BATON run --patience=0 --url=http://127.0.0.1:1 --if-unavailable=run --max-held=1s x -- "
         "sleep 600");
    says(terminal, 75, NULL, "$BATON acquire -n y && $BATON run -n --if-unavailable=run y -- true");
}

TEST_IN_STORY(token_file_is_for_the_command_alone)
{
    says(terminal, 0, " mode 600",
         "$BATON run --token-file=kept told -c 'echo fence $BATON_FENCE mode $(stat -c %%a "
         "$BATON_TOKEN_FILE); $BATON renew --token-file=$BATON_TOKEN_FILE told'");
    says(terminal, 0, "none", "test -e kept || echo none");
    says(terminal, 0, "unset", "$BATON run told -c 'echo ${BATON_TOKEN_FILE-unset}'");
    says(terminal, 78, "cannot write", "$BATON run --token-file=nowhere/token told -- true");
}

TEST_IN_STORY(run_within_a_run_names_its_own_lock_alone)
{
    says(terminal, 0, "two, no fence, no file",
         "$BATON run --token-file=kept one -- $BATON run two three -c 'echo $BATON_NAME, "
         "${BATON_FENCE-no fence}, ${BATON_TOKEN_FILE-no file}'");
    says(terminal, 0, "four, no fence",
         "$BATON run one -- $BATON run --patience=0 --url=http://127.0.0.1:1 --if-unavailable=run "
         "four -c "
         "'echo $BATON_NAME, ${BATON_FENCE-no fence}'");
}

TEST_IN_STORY(verbose_run_reports_grant_and_renewal)
{
    terminal_start(terminal, "exec $BATON run -v --ttl=6s verbose -- sleep 600");
    comes_to_say(terminal, "verbose: granted, fence 1");
    comes_to_say(terminal, "verbose: renewed, ");
    process_signal(&terminal->process, SIGTERM);
    ends(terminal, 128 + SIGTERM, "verbose: released");
}

/* Its pipe is full. What it has said is there when somebody reads. */
TEST_IN_STORY(verbose_run_renews_whether_or_not_somebody_reads)
{
    terminal_start(terminal,
                   "mkfifo full; exec 3<>full; yes | head -c 65536 >&3; $BATON run -v --ttl=6s "
                   "deaf -c 'until test -e read; do sleep 0.05; done; exit 5' 2>&3 & "
                   "until test -e read; do sleep 0.05; done; cat <&3 & "
                   "wait %1; echo status $? >&3; until test -e shown; do sleep 0.05; done; "
                   "kill %2");
    comes_to_be_renewed(client, "deaf");
    run_beside(terminal, "touch read");
    comes_to_say(terminal, "deaf: renewed, ");
    comes_to_say(terminal, "deaf: released\n");
    comes_to_say(terminal, "status 5\n");
    run_beside(terminal, "touch shown");
}

TEST_IN_STORY(holder_names_process_and_not_its_arguments)
{
    terminal_start(terminal, "exec $BATON run --meta job=7 named -- /bin/sleep 600.125");
    struct process *process = &terminal->process;
    while (is_free(client, "named"))
        clock_sleep_ms(2);
    answers(client, "GET /locks/named", NULL, 200, NULL);
    assert_string_equal(member_text(client, "holders.0.meta.command"), "sleep");
    assert_string_equal(member_text(client, "holders.0.meta.job"), "7");
    assert_int_equal(member_integer(client, "holders.0.meta.pid"), process->pid);
}

/* batond refuses variables BATON_... that it does not know. */
TEST_IN_STORY(batond_starts_under_run)
{
    char command[600];
    snprintf(command, sizeof command,
             "echo key >key; export BATON_AUTH_FILE=key BATON_CA=%s BATON_CERT= BATON_KEY=; exec "
             "$BATON run --token-file=kept service -- %s --listen=127.0.0.1:0 --redis-url=%s",
             "/etc/hostname", getenv("BATON_TEST_BATOND"), story->service.redis.url);
    terminal_start(terminal, command);
    comes_to_say(terminal, "\"msg\":\"listening\"");
    process_signal(&terminal->process, SIGTERM);
    ends(terminal, 0, NULL);
}

RUN_TESTS(story_open, story_close)
