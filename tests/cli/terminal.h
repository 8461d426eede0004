/* terminal.h: the program under test as a shell runs it, with no settings of this machine. */
#ifndef BATON_TESTS_CLI_TERMINAL_H
#define BATON_TESTS_CLI_TERMINAL_H

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

struct terminal {
    struct temp_dir dir; /* the home directory, which begins empty */
    char url[1024];      /* BATON_URL */
    struct process process;
    int count;    /* of commands so far: each has a log of its own */
    char *output; /* of the latest command, standard error included */
};

void terminal_open(struct terminal *terminal, const char *url);
void terminal_close(struct terminal *terminal);

/* Starts a command in which $BATON is the program. It runs in the home directory. */
void terminal_start(struct terminal *terminal, const char *command);

/* Waits for its end. Returns its exit code, and leaves what it has said in `output`. */
int terminal_await(struct terminal *terminal);

/* Both, for a command of printf's form. */
int terminal_run(struct terminal *terminal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails the test where the command does not end so, or does not say `text` (NULL: anything). */
#define says(terminal, code, text, ...)                                                            \
    terminal_says(terminal, terminal_run(terminal, __VA_ARGS__), code, text, __FILE__, __LINE__)
void terminal_says(const struct terminal *terminal, int found, int code, const char *text,
                   const char *file, int line);

/* The same of a command that was started. */
#define ends(terminal, code, text)                                                                 \
    terminal_says(terminal, terminal_await(terminal), code, text, __FILE__, __LINE__)

#endif
