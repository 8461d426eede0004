/* messages.h: a thread prints what baton run writes to standard error, so that nothing else waits
 * for a blocked reader: a terminal after Ctrl-S, or a pipe. */
#ifndef BATON_CLI_RUN_MESSAGES_H
#define BATON_CLI_RUN_MESSAGES_H

#include <pthread.h>
#include <stdio.h>

struct messages {
    int receiver;
    pthread_t thread;
    FILE *direct; /* the real standard error */
};

/* Redirects stderr of this process to the thread. What finds no room in the kernel, some hundred
 * lines, is lost. Returns 0, or a negative errno. */
int messages_open(struct messages *messages);

/* Waits until all is printed, at most 100 ms if the reader is slow. */
void messages_settle(void);

/* Prints the rest, and restores stderr. Waits for the reader, as any program does; signals have
 * their default effect again. */
void messages_close(struct messages *messages);

#endif
