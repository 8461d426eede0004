#include "tests/cli/story.h"

#include "tests/support/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int story_open(void **state)
{
    struct story *story = calloc(1, sizeof *story);
    if (!story)
        abort();
    *state = story;
    service_open(&story->service, NULL, NULL);
    terminal_open(&story->terminal, story->service.batond.url);
    return 0;
}

int story_close(void **state)
{
    struct story *story = *state;
    terminal_close(&story->terminal);
    service_close(&story->service);
    free(story);
    return 0;
}

pid_t pid_said(struct story *story, const char *word)
{
    char line[200];
    if (!process_wait_line(&story->terminal.process, word, NULL, line, sizeof line, CLOCK_HANG_MS))
        fail_msg("no `%s` in %s", word, process_output(&story->terminal.process));
    return (pid_t)strtol(line + strlen(word), NULL, 10);
}

void start_tree(struct story *story, const char *name, const char *ttl, const char *trap)
{
    char command[600];
    snprintf(command, sizeof command,
             "exec $BATON run --ttl=%s %s -c '"
             "trap \"%s\" TERM; echo \"guard $PPID\"; echo \"near $$\"; "
             "setsid sh -c \"echo far \\$\\$; exec sleep 600\" & sleep 600; sleep 600'",
             ttl, name, trap);
    terminal_start(&story->terminal, command);
    story->guard = pid_said(story, "guard ");
    story->near = pid_said(story, "near ");
    story->far = pid_said(story, "far ");
}

bool tree_is_gone(void *context)
{
    const struct story *story = context;
    return kill(story->near, 0) < 0 && errno == ESRCH && kill(story->far, 0) < 0 && errno == ESRCH;
}

bool is_free(struct http_client *client, const char *name)
{
    char request[80];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(client, request, NULL, 200, NULL);
    return strcmp(member_text(client, "state"), "free") == 0;
}

struct looking {
    struct http_client *client;
    const char *name;
};

static bool has_come_free(void *context)
{
    const struct looking *looking = context;
    return is_free(looking->client, looking->name);
}

static bool has_been_renewed(void *context)
{
    return !has_come_free(context) &&
           member_integer(((struct looking *)context)->client, "holders.0.held_ms") > 6000;
}

void comes_to_be_free(struct http_client *client, const char *name)
{
    assert_true(clock_wait_until(has_come_free, &(struct looking){client, name}, CLOCK_HANG_MS));
}

void comes_to_be_renewed(struct http_client *client, const char *name)
{
    assert_true(clock_wait_until(has_been_renewed, &(struct looking){client, name}, CLOCK_HANG_MS));
}

void hold_as_ann(struct http_client *client, const char *name, char token[TOKEN_TEXT])
{
    char request[120];
    snprintf(request, sizeof request, "POST /locks/%s?owner=ann&ttl=1h", name);
    answers(client, request, NULL, 201, NULL);
    keep_token(client, token);
}

void release(struct http_client *client, const char *name, const char *token)
{
    char request[120];
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    answers_token(client, token, request, NULL, 200, NULL);
}

void run_beside(const struct terminal *terminal, const char *command)
{
    struct terminal other = {.dir = terminal->dir, .count = 100};
    says(&other, 0, NULL, "%s", command);
    free(other.output);
}

struct expected {
    const struct process *process;
    const char *text;
};

static bool is_said(void *context)
{
    const struct expected *expected = context;
    char *output = process_output(expected->process);
    bool found = strstr(output, expected->text);
    free(output);
    return found;
}

void comes_to_say(struct terminal *terminal, const char *text)
{
    struct expected expected = {&terminal->process, text};
    if (!clock_wait_until(is_said, &expected, CLOCK_HANG_MS))
        fail_msg("no `%s` in %s", text, process_output(&terminal->process));
}

size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *found = text; (found = strstr(found, word)); found += strlen(word))
        count++;
    return count;
}
