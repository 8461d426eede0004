#include "tests/cli/terminal.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_TEXT = 2048 };

void terminal_open(struct terminal *terminal, const char *url)
{
    *terminal = (struct terminal){0};
    temp_dir_make(&terminal->dir);
    snprintf(terminal->url, sizeof terminal->url, "BATON_URL=%s", url);
}

void terminal_close(struct terminal *terminal)
{
    process_stop(&terminal->process);
    free(terminal->output);
    temp_dir_remove(&terminal->dir);
}

void terminal_start(struct terminal *terminal, const char *command)
{
    char home[128], program[1024], log[112], whole[COMMAND_TEXT];
    const char *path = getenv("BATON_TEST_BATON");
    if (!path)
        fail_msg("BATON_TEST_BATON has to name the program");
    snprintf(home, sizeof home, "HOME=%s", terminal->dir.path);
    snprintf(program, sizeof program, "BATON=%s", path);
    snprintf(log, sizeof log, "%s/log.%d", terminal->dir.path, terminal->count++);
    snprintf(whole, sizeof whole, "cd; %s", command);
    const char *const arguments[] = {"bash", "-c", whole, NULL};
    const char *const environment[] = {
        home,         program,     terminal->url, "XDG_CONFIG_HOME", "BATON_AUTH_FILE", "BATON_CA",
        "BATON_CERT", "BATON_KEY", NULL};
    process_stop(&terminal->process);
    process_start(&terminal->process, arguments, environment, log);
}

int terminal_await(struct terminal *terminal)
{
    if (!process_wait(&terminal->process, CLOCK_HANG_MS))
        fail_msg("it runs on, and says: %s", process_output(&terminal->process));
    free(terminal->output);
    terminal->output = process_output(&terminal->process);
    return process_exit_code(&terminal->process);
}

int terminal_run(struct terminal *terminal, const char *format, ...)
{
    char command[COMMAND_TEXT - 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    terminal_start(terminal, command);
    return terminal_await(terminal);
}

void terminal_says(const struct terminal *terminal, int found, int code, const char *text,
                   const char *file, int line)
{
    if (found == code && (!text || strstr(terminal->output, text)))
        return;
    print_error("exit code %d, not %d with \"%s\":\n%s\n", found, code, text ? text : "",
                terminal->output);
    _fail(file, line);
}
