/* What baton run prints while it waits for the lock. */
#include "tests/cli/story.h"

#include <stdio.h>
#include <string.h>

TEST_IN_STORY(waiting_prints_a_line_and_then_only_changes)
{
    char ann[TOKEN_TEXT];
    hold_as_ann(client, "lines", ann);
    terminal_start(terminal, "exec $BATON run lines -- echo runs");
    comes_to_say(terminal, "baton: waiting. lines: held by ann for ");
    answers_token(client, ann, "PUT /locks/lines", NULL, 200, NULL); /* a change of no interest */
    release(client, "lines", ann);
    ends(terminal, 0, "runs");
    assert_int_equal(count_of(terminal->output, "waiting"), 1);
}

TEST_IN_STORY(waiting_names_process_and_place)
{
    struct terminal holder;
    terminal_open(&holder, story->service.batond.url);
    terminal_start(&holder, "exec $BATON run --owner=root@web2 place -- /bin/sleep 600");
    while (is_free(client, "place"))
        clock_sleep_ms(2);
    struct terminal before;
    terminal_open(&before, story->service.batond.url);
    terminal_start(&before, "exec $BATON acquire place");
    comes_to_queue(client, "place", 1);
    terminal_start(terminal, "exec $BATON run place -- echo runs");
    char expected[160];
    snprintf(expected, sizeof expected, "place: held by root@web2 (pid %d, sleep) for ",
             holder.process.pid);
    comes_to_say(terminal, expected);
    comes_to_say(terminal, "; 1 before you\n");
    terminal_close(&before);
    terminal_close(&holder);
    process_stop(&terminal->process);
}

static bool line_was_kept_current(void *context)
{
    char *output = process_output(&((struct terminal *)context)->process);
    size_t count = count_of(output, "\r\033[Ktty: held by ann for ");
    free(output);
    return count >= 3;
}

TEST_IN_STORY(terminal_has_one_line_that_is_cleared)
{
    char ann[TOKEN_TEXT];
    hold_as_ann(client, "tty", ann);
    terminal_start(terminal, "TERM=xterm exec script -qec '$BATON run tty -- echo runs' /dev/null");
    assert_true(clock_wait_until(line_was_kept_current, terminal, CLOCK_HANG_MS));
    release(client, "tty", ann);
    ends(terminal, 0, "\r\033[Kruns");
    assert_int_equal(count_of(terminal->output, "\n"), 1);
}

/* Its process is gone: nobody should look for it. */
TEST_IN_STORY(waiting_names_no_process_of_a_lock_that_at_least_keeps_taken)
{
    says(terminal, 0, NULL, "$BATON run --owner=ann --at-least=1h least -- true");
    terminal_start(terminal, "exec $BATON run least -- true");
    comes_to_say(terminal, "waiting. least: released by ann, taken for 59 min ");
    process_stop(&terminal->process);
}

TEST_IN_STORY(quiet_run_waits_silently)
{
    char ann[TOKEN_TEXT];
    hold_as_ann(client, "silent", ann);
    says(terminal, 75, NULL, "$BATON run -q -w 2s silent -- echo runs");
    assert_string_equal(terminal->output, "");
    says(terminal, 75, "held by ann", "$BATON run -w 4s silent -- echo runs");
    says(terminal, 75, "The wait ended", "$BATON run -w 500ms silent -- echo runs");
    says(terminal, 75, "several:taken: held by ann",
         "$BATON acquire -n several:taken --owner=ann; $BATON run -w 4s several:free "
         "several:taken -- echo runs");
    release(client, "silent", ann);
}

RUN_TESTS(story_open, story_close)
