/* interrupt.h: the signals that ask baton to end while it waits for a lock, so that it leaves the
 * queue before it ends by them. */
#ifndef BATON_CLI_RUN_INTERRUPT_H
#define BATON_CLI_RUN_INTERRUPT_H

#include <signal.h>

struct interrupt {
    sigset_t former; /* the mask of before */
    int descriptor;  /* readable once a signal has come; -1: it ends the process */
};

/* Blocks those of the signals (the last is 0) that are neither ignored nor in `except`. Returns a
 * signalfd of them, or -1 and errno. */
int interrupt_block(const int *signals, const sigset_t *except);

/* Blocks SIGTERM, SIGHUP, SIGINT and SIGQUIT from now on, without those that have no effect. */
void interrupt_open(struct interrupt *ret);

/* Closes the descriptor. Returns the signal that has come, which stays blocked; 0: none. */
int interrupt_close(const struct interrupt *interrupt);

/* Does what a blocked signal does by default, and blocks it again. */
void interrupt_take(int signal);

/* Ends this process as the signal does by default, without a core. Returns if it cannot, as in the
 * first process of a container. */
void interrupt_die(int signal);

#endif
