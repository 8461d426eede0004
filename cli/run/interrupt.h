/* interrupt.h: the signals that end baton while it waits for a lock: baton leaves the queue
 * first. */
#ifndef BATON_CLI_RUN_INTERRUPT_H
#define BATON_CLI_RUN_INTERRUPT_H

#include <signal.h>

struct interrupt {
    sigset_t former; /* the mask before */
    int descriptor;  /* readable once a signal has come; -1: a signal ends the process at once */
};

/* Blocks the signals (the last is 0) that are neither ignored nor in `except`. Returns a signalfd
 * of them, or -1 and errno. */
int interrupt_block(const int *signals, const sigset_t *except);

/* Blocks SIGTERM, SIGHUP, SIGINT and SIGQUIT from now on, except those that are ignored or blocked
 * already. */
void interrupt_open(struct interrupt *ret);

/* Closes the descriptor. Returns the signal that has come, which stays blocked; 0: none. */
int interrupt_close(const struct interrupt *interrupt);

/* Does what a blocked signal does by default, and blocks it again. */
void interrupt_take(int signal);

/* Ends this process as the signal does by default, without a core. Returns if it cannot, as in the
 * first process of a container. */
void interrupt_die(int signal);

#endif
