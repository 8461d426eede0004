#include "tests/support/batond_process.h"

#include "tests/support/cmocka.h"
#include "tests/support/redis_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_MS = 30000, MAX_ARGUMENTS = 64 };

/* A developer's own settings must not reach the batond under test, and nobody is to wait for its
 * end unless that is what the test is about. */
static const char *const clean_environment[] = {"BATON_LISTEN",
                                                "BATON_REDIS_URL",
                                                "BATON_REDIS_URL_FILE",
                                                "BATON_REDIS_SENTINEL_USER",
                                                "BATON_REDIS_SENTINEL_PASSWORD",
                                                "BATON_STATE_DIR",
                                                "BATON_WORKERS",
                                                "BATON_KEY_PREFIX",
                                                "BATON_DEFAULT_TTL",
                                                "BATON_MAX_TTL",
                                                "BATON_MAX_HELD",
                                                "BATON_LOG_LEVEL",
                                                "BATON_LOG_FORMAT",
                                                "BATON_ACCESS_LOG",
                                                "BATON_AUDIT_LOG",
                                                "BATON_RETENTION",
                                                "BATON_ALLOW_ANONYMOUS",
                                                "BATON_MAX_WAIT",
                                                "BATON_MAX_WAITERS",
                                                "BATON_CLAIM_WINDOW",
                                                "BATON_WAITER_LEASE",
                                                "BATON_DRAIN=0",
                                                "BATON_QUARANTINE=off",
                                                "BATON_CONFIRM",
                                                "BATON_CONFIRM_TIMEOUT=5s"};

static const char *program(void)
{
    const char *path = getenv("BATON_TEST_BATOND");
    return path ? path : "build/batond";
}

static void append(const char **list, size_t *count, const char *const *more)
{
    for (; more && *more && *count < MAX_ARGUMENTS; more++)
        list[(*count)++] = *more;
}

void batond_process_launch(struct batond_process *batond, const struct batond_options *options)
{
    struct batond_options none = {0};
    if (!options)
        options = &none;
    *batond = (struct batond_process){.port = 0};
    temp_dir_make(&batond->dir);
    char log[100], state[100], listen[40], patience[40];
    snprintf(listen, sizeof listen, "127.0.0.1:%d", options->port);
    snprintf(log, sizeof log, "%s/log", batond->dir.path);
    snprintf(state, sizeof state, "%s/state", batond->dir.path);
    const char *arguments[MAX_ARGUMENTS + 1] = {program(), "--listen", listen, "--state-dir",
                                                options->state_dir ? options->state_dir : state};
    size_t count = 5;
    if (options->redis_url)
        append(arguments, &count, (const char *const[]){"--redis-url", options->redis_url, NULL});
    append(arguments, &count, options->arguments);
    const char *environment[MAX_ARGUMENTS + 1] = {NULL};
    size_t changes = sizeof clean_environment / sizeof *clean_environment;
    memcpy(environment, clean_environment, sizeof clean_environment);
    snprintf(patience, sizeof patience, "BATON_REDIS_TIMEOUT=%dms", redis_patience_ms());
    environment[changes++] = patience;
    append(environment, &changes, options->environment);
    process_start(&batond->process, arguments, environment, log);
}

static void print_log(const struct batond_process *batond)
{
    char *output = process_output(&batond->process);
    print_error("%s", output);
    free(output);
}

bool batond_process_listening(struct batond_process *batond, int timeout_ms)
{
    static const char key[] = "\"url\":\"";
    char line[512];
    if (!process_wait_line(&batond->process, "\"msg\":\"listening\"", NULL, line, sizeof line,
                           timeout_ms))
        return false;
    char *url = strstr(line, key);
    if (!url)
        fail_msg("no url in the log: %s", line);
    url += strlen(key);
    url[strcspn(url, "\"")] = '\0';
    snprintf(batond->url, sizeof batond->url, "%s", url);
    const char *port = strrchr(url, ':');
    batond->port = port ? (int)strtol(port + 1, NULL, 10) : 0;
    return true;
}

void batond_process_start(struct batond_process *batond, const struct batond_options *options)
{
    batond_process_launch(batond, options);
    if (batond_process_listening(batond, START_MS))
        return;
    print_log(batond);
    batond_process_stop(batond);
    fail_msg("batond does not start");
}

int batond_process_stop(struct batond_process *batond)
{
    if (!batond->dir.path[0])
        return 0;
    int code = process_stop(&batond->process);
    char *output = process_output(&batond->process);
    if (strstr(output, "Sanitizer") || strstr(output, "runtime error:") ||
        strstr(output, "the sandbox has blocked"))
        print_log(batond);
    free(output);
    temp_dir_remove(&batond->dir);
    return code;
}
