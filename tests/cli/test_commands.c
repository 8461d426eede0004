/* The commands of baton against a batond: what they do, what they print, and how they exit. */
#include "tests/cli/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_IN_STORY(acquire_prints_token_that_renew_and_release_take)
{
    says(terminal, 0, NULL, "$BATON acquire -n --ttl=1m plain >token");
    says(terminal, 0, "\"ttl_ms\":20000",
         "$BATON renew --ttl=20s --json --token-file=- plain <token");
    says(terminal, 0, "\"released\":true", "$BATON release --json --token-file=- plain <token");
    answers(client, "GET /locks/plain", NULL, 200, NULL);
    assert_string_equal(member_text(client, "state"), "free");
    says(terminal, 76, "does not hold the lock", "$BATON renew --token-file=- plain <token");
    says(terminal, 0, NULL, "$BATON acquire plain >token && $BATON break --reason=moved plain");
    says(terminal, 76, "s ago from 127.0.0.1 (\"moved\"), so nothing was renewed.",
         "$BATON renew --token-file=- plain <token");
}

TEST_IN_STORY(reply_to_renew_does_not_print_token)
{
    says(terminal, 0, NULL, "$BATON acquire -n hidden >token");
    says(terminal, 0, "\"fence\"", "$BATON renew --json --token-file=token hidden");
    assert_null(strstr(terminal->output, "\"token\""));
}

TEST_IN_STORY(held_lock_is_refused_without_a_wait)
{
    answers(client, "POST /locks/taken?owner=ann", NULL, 201, NULL);
    says(terminal, 75, "baton: taken: The lock is taken\n  Held by ann", "$BATON acquire -n taken");
    says(terminal, 75, "Without -n", "$BATON acquire -n taken");
    assert_null(strstr(terminal->output, "wait="));
    says(terminal, 3, NULL, "$BATON acquire -nq -E 3 taken");
    assert_string_equal(terminal->output, "");
    says(terminal, 75, "The wait ended", "$BATON acquire -w 100ms taken");
    assert_null(strstr(terminal->output, "wait="));
    says(terminal, 75, "place in the queue is given up.\n  Wait longer with -w",
         "$BATON run -w 100ms taken -- true");
    comes_to_queue(client, "taken", 0);
}

TEST_IN_STORY(two_acquires_of_one_user_exclude_each_other)
{
    says(terminal, 0, NULL, "$BATON acquire -n user");
    says(terminal, 75, NULL, "$BATON acquire -n user");
    says(terminal, 0, NULL, "$BATON acquire -n --owner=me label");
    says(terminal, 75, "Held by me", "$BATON acquire -n --owner=me label");
    assert_null(strstr(terminal->output, "reentrant="));
}

TEST_IN_STORY(options_of_acquire_reach_batond)
{
    says(terminal, 0, NULL,
         "$BATON acquire -n --limit=3 --ttl=1h --owner=bob --meta job=x=1 --meta n=2 options");
    answers(client, "GET /locks/options", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "limit"), 3);
    assert_string_equal(member_text(client, "holders.0.mode"), "shared");
    assert_string_equal(member_text(client, "holders.0.owner"), "bob");
    assert_string_equal(member_text(client, "holders.0.meta.job"), "x=1");
    assert_true(member_integer(client, "holders.0.ttl_ms") > 3000000);
}

TEST_IN_STORY(permits_count_by_the_limit)
{
    says(terminal, 0, NULL, "$BATON acquire -n --limit=5 --permits=3 pool");
    says(terminal, 75, "3 of 5 taken", "$BATON acquire -n --limit=5 --permits=3 pool");
    says(terminal, 75, NULL, "$BATON run -n --limit=5 --permits=3 pool -- true");
    says(terminal, 0, "granted", "$BATON run -n --limit=5 --permits=2 pool -- echo granted");
    says(terminal, 64, "permits: only with a limit, and at most as many as that.\n",
         "$BATON acquire -n --permits=2 pool");
}

TEST_IN_STORY(reentrant_acquire_joins_the_hold_of_its_owner)
{
    says(terminal, 0, NULL, "$BATON acquire -n --owner=me nested");
    says(terminal, 0, NULL, "$BATON acquire -n --owner=me --reentrant nested");
    says(terminal, 75, "Held by me", "$BATON acquire -n --owner=you --reentrant nested");
    says(terminal, 64, "Name it: --owner=TEXT", "$BATON acquire -n --reentrant nested");
}

TEST_IN_STORY(released_lock_that_stays_taken_is_shown_so)
{
    says(terminal, 0, NULL, "$BATON acquire -n --at-least=1h --token-file=token least");
    says(terminal, 0, "\"free_in_ms\":3", "$BATON release --json --token-file=token least");
    says(terminal, 0, "released  ", "$BATON show least");
    says(terminal, 75, "taken for", "$BATON acquire -n least");
}

TEST_IN_STORY(renewal_beyond_max_held_is_refused)
{
    says(terminal, 0, NULL, "$BATON acquire -n --ttl=1h --max-held=1h --token-file=token most");
    says(terminal, 124, "cannot be renewed any more", "$BATON renew --token-file=token most");
    says(terminal, 0, "\"max_held_ms\":3", "$BATON renew --json --ttl=1m --token-file=token most");
}

TEST_IN_STORY(acquire_waits_over_a_restart_of_batond)
{
    char token[TOKEN_TEXT];
    struct batond_process *batond = &story->service.batond;
    int port = batond->port;
    hold_as_ann(client, "restarted", token);
    terminal_start(terminal, "$BATON acquire restarted");
    comes_to_queue(client, "restarted", 1);
    assert_int_equal(batond_process_stop(batond), 0);
    batond_process_start(
        batond, &(struct batond_options){.redis_url = story->service.redis.url, .port = port});
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    comes_to_queue(client, "restarted", 1);
    release(client, "restarted", token);
    ends(terminal, 0, NULL);
}

/* Longer than one request may wait, so it has repeated the request and not lost its place. */
static bool has_waited_longer(void *context)
{
    answers(context, "GET /locks/portions", NULL, 200, NULL);
    return member_integer(context, "waiters.0.waited_ms") > 2000;
}

TEST_IN_STORY(wait_longer_than_max_wait_keeps_its_place)
{
    static const char *const FLAGS[] = {"--max-wait=2s", NULL};
    struct batond_process batond;
    struct http_client *other = batond_open(&batond, story->service.redis.url, FLAGS);
    char token[TOKEN_TEXT];
    hold_as_ann(other, "portions", token);
    char command[200];
    snprintf(command, sizeof command, "$BATON acquire -w 5m --url %s portions", batond.url);
    terminal_start(terminal, command);
    assert_true(clock_wait_until(has_waited_longer, other, CLOCK_HANG_MS));
    release(other, "portions", token);
    ends(terminal, 0, NULL);
    batond_close(&batond, other);
}

TEST_IN_STORY(token_file_is_private_and_goes_with_release)
{
    char path[120];
    struct stat file;
    snprintf(path, sizeof path, "%s/kept", terminal->dir.path);
    says(terminal, 0, NULL, "umask 0; $BATON acquire -n --json --token-file=kept filed");
    assert_null(strstr(terminal->output, "token"));
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    says(terminal, 75, NULL, "$BATON acquire -nq --token-file=kept filed");
    says(terminal, 0, NULL,
         "$BATON renew --token-file=kept filed"); /* the old token is still there */
    says(terminal, 0, NULL, "$BATON release --token-file=kept filed");
    says(terminal, 0, "0", "find . -name 'kept*' | wc -l");
    says(terminal, 78, "Was the hold released?", "$BATON release --token-file=kept filed");
}

TEST_IN_STORY(token_file_that_cannot_be_written_is_refused_before_the_acquire)
{
    static const char *const PATHS[] = {".", "taken", "taken/", "link", "pipe", "''"};
    says(terminal, 0, NULL, "mkdir taken && ln -s none link && mkfifo pipe");
    says(terminal, 78, "cannot write nowhere/token",
         "$BATON acquire --token-file=nowhere/token unfiled");
    for (size_t i = 0; i < LENGTH(PATHS); i++)
        says(terminal, 78, "is not a file. Name one in a directory that you can write to.",
             "$BATON acquire --token-file=%s unfiled", PATHS[i]);
    says(terminal, 78, "is not a file", "$BATON run --token-file=taken unfiled -- true");
    says(terminal, 0, "\"last_release\":null", "$BATON show --json unfiled");
}

TEST_IN_STORY(release_leaves_a_link_to_a_token_in_place)
{
    says(terminal, 0, NULL, "$BATON acquire --token-file=kept linked && ln -s kept other");
    says(terminal, 0, NULL, "$BATON release --token-file=other linked");
    says(terminal, 0, "kept", "readlink other");
}

TEST_IN_STORY(token_file_that_cannot_be_put_after_all_leaves_the_lock_free)
{
    char token[TOKEN_TEXT];
    hold_as_ann(client, "late", token);
    terminal_start(terminal, "exec $BATON acquire --token-file=place late");
    comes_to_say(terminal, "baton: waiting.");
    run_beside(terminal, "mkdir place");
    release(client, "late", token);
    ends(terminal, 70, "cannot put place");
    assert_true(is_free(client, "late"));
}

TEST_IN_STORY(output_that_cannot_be_written_is_a_fault_and_leaves_the_lock_free)
{
    static const char *const COMMANDS[] = {"show full",  "show --json full", "list",
                                           "watch full", "whoami",           "acquire -n full"};
    for (size_t i = 0; i < LENGTH(COMMANDS); i++)
        says(terminal, 70, "cannot write to standard output", "$BATON %s >/dev/full", COMMANDS[i]);
    says(terminal, 70, "cannot write to standard output", "$BATON show full >&-");
    says(terminal, 70, "cannot write to standard output", "$BATON acquire -n full >&-");
    assert_true(is_free(client, "full"));
}

/* As when a script is killed whose acquire waits, and is granted the lock after all. */
TEST_IN_STORY(token_that_nobody_reads_any_more_leaves_the_lock_free)
{
    says(terminal, 0, "code 70",
         "{ until [ -e closed ]; do :; done; $BATON acquire -n unread; echo \"code $?\" >&2; } | "
         "{ exec <&-; touch closed; }");
    assert_true(is_free(client, "unread"));
}

TEST_IN_STORY(several_names_are_taken_renewed_and_released_together)
{
    says(terminal, 0, NULL, "$BATON acquire -n --json --token-file=both left right");
    assert_int_equal(count_of(terminal->output, "\n"), 2);
    says(terminal, 75, "left: The lock is taken", "$BATON acquire -n left other");
    says(terminal, 0, "\"right\"", "$BATON renew --json --token-file=both left right");
    assert_null(strstr(terminal->output, "\"token\""));
    says(terminal, 0, NULL, "$BATON release --token-file=both left right");
    says(terminal, 0, NULL, "$BATON acquire -n left");
}

TEST_IN_STORY(name_with_any_character_is_encoded)
{
    says(terminal, 0, NULL, "$BATON acquire -n 'a b/c?d#e%%41'");
    answers(client, "GET /locks/a%20b%2Fc%3Fd%23e%2541", NULL, 200, NULL);
    assert_string_equal(member_text(client, "state"), "held");
}

TEST_IN_STORY(list_prints_all_pages)
{
    char request[80];
    for (int i = 0; i < 230; i++) {
        snprintf(request, sizeof request, "POST /locks/paged:%d?ttl=1h", i);
        answers(client, request, NULL, 201, NULL);
    }
    says(terminal, 0, "\"name\":\"paged:17\"", "$BATON list --json paged:");
    assert_int_equal(count_of(terminal->output, "\n"), 230);
    says(terminal, 0, "NAME ", "$BATON list paged:");
    assert_int_equal(count_of(terminal->output, "\n"), 231);
}

TEST_IN_STORY(list_is_sorted_and_shows_how_full_a_semaphore_is)
{
    static const char *const NAMES[] = {"s:d", "s:b", "s:e", "s:a"};
    for (size_t i = 0; i < LENGTH(NAMES); i++)
        says(terminal, 0, NULL, "$BATON acquire -n --ttl=1h %s", NAMES[i]);
    says(terminal, 0, NULL, "$BATON acquire -n --limit=3 --permits=2 s:c");
    says(terminal, 0, NULL, "$BATON acquire -n --limit=3 s:c");
    says(terminal, 0, "s:c  3 of 3    ", "$BATON list s:");
    assert_non_null(strstr(terminal->output, " 59m"));
    says(terminal, 0, "s:a s:b s:c s:c s:d s:e\n",
         "$BATON list s: | awk 'NR > 1 { print $1 }' | paste -sd ' '");
}

TEST_IN_STORY(show_prints_holders_and_waiters)
{
    answers(client, "POST /locks/shown?owner=ann&mode=shared", NULL, 201, NULL);
    struct terminal other;
    terminal_open(&other, story->service.batond.url);
    terminal_start(&other, "exec $BATON acquire --owner=bob shown");
    comes_to_queue(client, "shown", 1);
    says(terminal, 0, "shared    ann", "$BATON show shown");
    says(terminal, 0, "waiting   bob", "$BATON show shown");
    says(terminal, 0, "\"queue_length\":1", "$BATON show --json shown");
    terminal_close(&other);
}

TEST_IN_STORY(show_quiet_says_by_its_exit_status_whether_one_is_held)
{
    answers(client, "POST /locks/tested", NULL, 201, NULL);
    says(terminal, 0, NULL, "$BATON show -q tested");
    assert_string_equal(terminal->output, "");
    says(terminal, 0, NULL, "$BATON show --json --quiet untested tested");
    assert_string_equal(terminal->output, "");
    says(terminal, 1, NULL, "$BATON show -q untested");
    assert_string_equal(terminal->output, "");
    says(terminal, 64, "name is not valid", "$BATON show -q ..");
    says(terminal, 69, "no batond answered", "$BATON show -q --url=http://127.0.0.1:1 tested");
}

TEST_IN_STORY(options_may_stand_before_the_command)
{
    says(terminal, 69, "127.0.0.1:1", "$BATON --url=http://127.0.0.1:1 list");
    says(terminal, 69, "127.0.0.1:1", "$BATON --json --url http://127.0.0.1:1 list");
    says(terminal, 0, "ran", "$BATON -nq --ttl 3s run front -- echo ran");
    says(terminal, 64, "\"--fence\" is not an option of baton list", "$BATON --fence=1 list");
    says(terminal, 64, "\"--colour\" is not an option of baton; baton help lists them",
         "$BATON --colour list");
    says(terminal, 64, "--url needs a value", "$BATON --url");
    says(terminal, 64, "usage: baton COMMAND", "$BATON --json");
}

TEST_IN_STORY(help_is_a_command_and_an_option)
{
    static const char *const OF_BATON[] = {"help", "--help", "-h", "--json --help", "--json help"},
                             *const OF_RUN[] = {"help run", "--help run", "run -h", "-h run x"};
    for (size_t i = 0; i < LENGTH(OF_BATON); i++)
        says(terminal, 0, "usage: baton COMMAND", "$BATON %s", OF_BATON[i]);
    for (size_t i = 0; i < LENGTH(OF_RUN); i++)
        says(terminal, 0, "usage: baton run", "$BATON %s", OF_RUN[i]);
    says(terminal, 64, "\"fly\" is not a command of baton", "$BATON help fly");
    says(terminal, 64, "\"fly\" is not a command of baton", "$BATON fly");
    says(terminal, 0, "baton 0.", "$BATON --version");
}

TEST_IN_STORY(watch_prints_each_change_and_survives_a_restart)
{
    struct batond_process *batond = &story->service.batond;
    struct process *process = &terminal->process;
    int port = batond->port;
    size_t offset = 0;
    terminal_start(terminal, "exec $BATON watch --json watched");
    assert_true(process_wait_line(process, "\"free\"", &offset, NULL, 0, CLOCK_HANG_MS));
    answers(client, "POST /locks/watched?owner=ann&ttl=1h", NULL, 201, NULL);
    assert_true(process_wait_line(process, "\"ann\"", &offset, NULL, 0, CLOCK_HANG_MS));
    assert_int_equal(batond_process_stop(batond), 0);
    assert_true(process_wait_line(process, "asks again", &offset, NULL, 0, CLOCK_HANG_MS));
    batond_process_start(
        batond, &(struct batond_options){.redis_url = story->service.redis.url, .port = port});
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, "DELETE /locks/watched?force=true", NULL, 200, NULL);
    assert_true(process_wait_line(process, "\"forced\"", &offset, NULL, 0, CLOCK_HANG_MS));
}

TEST_IN_STORY(whoami_shows_the_address_and_the_rules)
{
    says(terminal, 0, "anybody (this batond has no tokens-file) from 127.0.0.1, batond ",
         "$BATON whoami");
    says(terminal, 0, "  all names: acquire, read, break, metrics\n", "$BATON whoami");
    says(terminal, 0, "\"client\":\"127.0.0.1\"", "$BATON whoami --json");
}

TEST_IN_STORY(list_shows_the_holds_of_an_owner_and_of_a_time)
{
    answers(client, "POST /locks/kept:1?owner=ann", NULL, 201, NULL);
    answers(client, "POST /locks/kept:2?owner=bob", NULL, 201, NULL);
    says(terminal, 0, "kept:2", "$BATON list --owner=bob kept:");
    assert_int_equal(count_of(terminal->output, "\n"), 2);
    says(terminal, 0, "127.0.0.1", "$BATON list kept:");
    says(terminal, 0, NULL, "$BATON list --json --held-for=0.5h kept:");
    assert_string_equal(terminal->output, "");
}

TEST_IN_STORY(break_by_fence_ends_that_hold_with_the_reason)
{
    char fence[24], text[160], command[160];
    answers(client, "POST /locks/exact?mode=shared&owner=ann", NULL, 201, NULL);
    snprintf(fence, sizeof fence, "%lld", (long long)member_integer(client, "fence"));
    answers(client, "POST /locks/exact?mode=shared&owner=bob", NULL, 201, NULL);
    snprintf(text, sizeof text, "exact: ended 1 hold, of ann (fence %s)\n", fence);
    snprintf(command, sizeof command, "$BATON break --fence=%s --reason='ann is gone' exact",
             fence);
    says(terminal, 0, text, "%s", command);
    answers(client, "GET /locks/exact", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "hold_count"), 1);
    assert_string_equal(member_text(client, "last_release.owner"), "ann");
    assert_string_equal(member_text(client, "last_release.broken.reason"), "ann is gone");
    says(terminal, 0, " s ago from 127.0.0.1: ann is gone\n", "$BATON show exact");
    says(terminal, 0, "  the hold of ann was broken ", "$BATON list exact");
    says(terminal, 75, "The hold to break has ended", "%s", command);
    says(terminal, 64, "--fence is of a hold of one lock", "$BATON break --fence=1 a b");
}

TEST_IN_STORY(break_ends_holds_by_name_and_by_prefix)
{
    answers(client, "POST /locks/job:1", NULL, 201, NULL);
    answers(client, "POST /locks/job:2", NULL, 201, NULL);
    says(terminal, 0, "job:1: ended 1 hold, of ", "$BATON break job:1");
    says(terminal, 64, "--prefix needs a reason", "$BATON break --prefix=job:");
    says(terminal, 64, "names to break, or --prefix", "$BATON break");
    says(terminal, 0, "job:: ended 1 hold\n", "$BATON break --prefix=job: --reason='site closed'");
}

TEST_IN_STORY(field_that_batond_refuses_is_called_as_its_option)
{
    says(terminal, 64, "\n  --ttl: expected a duration from 100ms to 1h,",
         "$BATON acquire --ttl=2h long");
    says(terminal, 64, "\n  --max-held: expected a duration",
         "$BATON acquire --max-held=1000h long");
    says(terminal, 64, "--held-for: \"long\" is not valid", "$BATON list --held-for=long");
    says(terminal, 64, "\n  prefix: expected text", "$BATON list $(printf 'a\\001')");
}

TEST_IN_STORY(refusal_by_batond_is_a_usage_error)
{
    says(terminal, 64, "name is not valid", "$BATON show ''");
    says(terminal, 64, "name is not valid", "$BATON show ..");
    says(terminal, 64, "name is not valid", "$BATON break ..");
    says(terminal, 64, "%2F.\n  baton encodes names itself", "$BATON show a/../b");
    says(terminal, 64, NULL, "$BATON acquire -n $(printf 'a\\377') other");
    says(terminal, 78, NULL, "$BATON show --url=$BATON_URL/elsewhere x");
}

RUN_TESTS(story_open, story_close)
