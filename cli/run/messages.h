/* messages.h: what baton run prints on standard error goes by a thread, so that nothing else waits
 * for a reader: a terminal after Ctrl-S, or a pipe. */
#ifndef BATON_CLI_RUN_MESSAGES_H
#define BATON_CLI_RUN_MESSAGES_H

#include <pthread.h>
#include <stdio.h>

struct messages {
    int receiver;
    pthread_t thread;
    FILE *direct; /* standard error as it was */
};

/* Has stderr of this process lead to the thread. What finds no room in the kernel, some hundred
 * lines, is lost. Returns 0, or a negative errno. */
int messages_open(struct messages *messages);

/* Waits until all is printed, but for no reader: 100 ms at most. */
void messages_settle(void);

/* Prints the rest, and restores stderr. A reader that does not read is waited for, as by any
 * program: what a signal does is done then. */
void messages_close(struct messages *messages);

#endif
