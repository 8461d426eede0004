/* A Redis that lacks commands, by rename-command or since it is no Redis: batond names them, and
 * does not blame the rights of its user. */
#include "tests/support/fixtures/service.h"

#include <stdlib.h>
#include <string.h>

struct story {
    struct redis_process redis;
    struct batond_process batond;
    struct http_client *client;
};

static void story_open(struct story *story, const char *command)
{
    const char *const arguments[] = {"--rename-command", command, "", NULL};
    redis_process_start(&story->redis, &(struct redis_options){.arguments = arguments});
    story->client = batond_open(&story->batond, story->redis.url, NULL);
}

static void story_close(struct story *story)
{
    batond_close(&story->batond, story->client);
    redis_process_stop(&story->redis);
}

static bool names_cause(const char *text, const char *cause)
{
    return strstr(text, cause) && strstr(text, "rename-command") &&
           !strstr(text, "the user of batond");
}

struct asking {
    struct http_client *client;
    const char *method;
    const char *path;
    const char *cause;
    struct batond_process *batond;
};

static bool comes_to_name(void *context)
{
    const struct asking *asking = context;
    return http_call(asking->client, asking->method, asking->path, NULL) == 503 &&
           names_cause(asking->client->reply.body, asking->cause);
}

static void is_named(struct story *story, const char *method, const char *path, const char *cause)
{
    struct asking asking = {story->client, method, path, cause, &story->batond};
    if (!clock_wait_until(comes_to_name, &asking, CLOCK_HANG_MS))
        fail_msg("%s %s: %s", method, path, story->client->reply.body);
}

/* Another failure may have been logged shortly before: then batond says the next one after a pause.
 */
static bool comes_to_log(void *context)
{
    const struct asking *asking = context;
    http_call(asking->client, asking->method, asking->path, NULL);
    return process_wait_line(&asking->batond->process, asking->cause, NULL, NULL, 0, 100);
}

static void is_logged(struct story *story, const char *cause)
{
    struct asking asking = {story->client, "GET", "/locks/a", cause, &story->batond};
    assert_true(clock_wait_until(comes_to_log, &asking, CLOCK_HANG_MS));
}

TEST(missing_function_commands_are_named_to_every_request)
{
    static const struct {
        const char *command;
        const char *cause;
    } ALL[] = {{"FUNCTION", "unknown command 'FUNCTION'"}, {"FCALL", "unknown command 'FCALL'"}};
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        struct story story;
        story_open(&story, ALL[i].command);
        is_named(&story, "GET", "/readyz", ALL[i].cause);
        is_named(&story, "GET", "/readyz?verbose", ALL[i].cause);
        is_named(&story, "POST", "/locks/a", ALL[i].cause);
        assert_non_null(http_text(story.client, "token"));
        is_named(&story, "GET", "/locks/a", ALL[i].cause);
        is_logged(&story, ALL[i].cause);
        char *log = process_output(&story.batond.process);
        assert_null(strstr(log, "with args"));
        free(log);
        story_close(&story);
    }
}

TEST(renamed_command_of_functions_is_named)
{
    struct story story;
    story_open(&story, "ZADD");
    is_named(&story, "GET", "/readyz", "COMMANDS zadd");
    is_logged(&story, "COMMANDS zadd");
    char *log = process_output(&story.batond.process);
    assert_null(strstr(log, "RIGHTS"));
    free(log);
    story_close(&story);
}

TEST(start_without_info_or_client_is_refused_with_the_cause)
{
    static const char *const ALL[] = {"INFO", "CLIENT"};
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        struct redis_process redis;
        struct batond_process batond;
        const char *const arguments[] = {"--rename-command", ALL[i], "", NULL};
        redis_process_start(&redis, &(struct redis_options){.arguments = arguments});
        batond_process_launch(&batond, &(struct batond_options){.redis_url = redis.url});
        assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
        assert_int_not_equal(process_exit_code(&batond.process), 0);
        char *log = process_output(&batond.process);
        assert_non_null(strstr(log, ALL[i]));
        assert_non_null(strstr(log, "rename-command"));
        free(log);
        batond_process_stop(&batond);
        redis_process_stop(&redis);
    }
}

/* What batond does without. */
TEST(other_commands_may_be_renamed)
{
    static const char *const ALL[] = {"HELLO", "FLUSHALL", "CONFIG", "WAIT", "KEYS", "EVALSHA"};
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        struct story story;
        story_open(&story, ALL[i]);
        assert_true(comes_to_answer(story.client, "/readyz", 200, CLOCK_HANG_MS));
        answers(story.client, "POST /locks/a?mode=shared", NULL, 201, NULL);
        answers(story.client, "POST /locks/a?mode=shared", NULL, 201, NULL);
        story_close(&story);
    }
}
