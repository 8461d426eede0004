/* batond_process.h: a batond of a test's own, on a port that the kernel chose. */
#ifndef BATON_TESTS_SUPPORT_BATOND_PROCESS_H
#define BATON_TESTS_SUPPORT_BATOND_PROCESS_H

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

struct batond_process {
    struct process process;
    struct temp_dir dir; /* its state directory and its log */
    char url[64];        /* http://127.0.0.1:PORT, without a slash at the end */
    int port;
};

struct batond_options {
    const char *redis_url;          /* NULL: an embedded redis-server */
    const char *state_dir;          /* NULL: one of its own, removed by batond_process_stop */
    const char *const *arguments;   /* more flags, NULL-terminated; may be NULL */
    const char *const *environment; /* as process_start has it; may be NULL */
    int port;                       /* 0: one that the kernel chooses */
};

/* Starts the program that $BATON_TEST_BATOND names with --listen on 127.0.0.1 and waits until it
 * says where it listens. `options` may be NULL. Fails the test if it does not. */
void batond_process_start(struct batond_process *batond, const struct batond_options *options);

/* The same without waiting: for a start that should be refused. See process_wait, _exit_code and
 * _output. */
void batond_process_launch(struct batond_process *batond, const struct batond_options *options);

/* Waits for the line that says where a launched one listens. False after `timeout_ms`, or when it
 * has ended. */
bool batond_process_listening(struct batond_process *batond, int timeout_ms);

/* Ends it with SIGTERM and removes its directory. Takes a zeroed one, or one that has ended.
 * Returns its exit code; what a sanitizer reported shows there and is printed. */
int batond_process_stop(struct batond_process *batond);

#endif
