/* process.h: a child process of a test, its output kept in a file. */
#ifndef BATON_TESTS_SUPPORT_PROCESS_H
#define BATON_TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid;     /* 0 when there is none */
    int exit_fd;   /* a pidfd, readable once the process has ended */
    int status;    /* as waitpid gives it, once it has ended */
    char log[112]; /* the path of the file with its standard output and error */
};

/* Starts `arguments` (NULL-terminated; the first is looked up in PATH) with standard input from
 * /dev/null and its output appended to the file `log`. `environment` (may be NULL) is a
 * NULL-terminated list: "NAME=value" is added, "NAME" alone is taken away. The child is killed when
 * the calling thread ends, so start it from the test's main thread. Fails the test if it cannot. */
void process_start(struct process *process, const char *const *arguments,
                   const char *const *environment, const char *log);

/* Waits until the process has ended by itself, at most `timeout_ms`, and reaps it. Returns false if
 * it still runs. */
bool process_wait(struct process *process, int timeout_ms);

/* After it has ended: its exit code, or 128 and the signal that ended it, as a shell says. */
int process_exit_code(const struct process *process);

/* Ends it: SIGTERM, and SIGKILL 10 s later. Takes a zeroed one, or one that has ended. Returns the
 * exit code. */
int process_stop(struct process *process);

/* SIGKILL, and reaps it. */
void process_kill(struct process *process);

/* Sends it a signal. After SIGSTOP, waits until all of it stands still. */
void process_signal(const struct process *process, int signal);

/* Waits until its output from byte `*offset` on has a whole line with `text` in it, copies that
 * line (cut at `size`) and moves `*offset` behind it. Returns false after `timeout_ms`, or as soon
 * as the process has ended without such a line. `offset` may be NULL (from the start), `line` too.
 */
bool process_wait_line(const struct process *process, const char *text, size_t *offset, char *line,
                       size_t size, int timeout_ms);

/* All of its output so far, NUL-terminated. To be freed. */
char *process_output(const struct process *process);

#endif
