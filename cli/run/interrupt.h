/* interrupt.h: the signals that ask baton to end while it waits for a lock, so that it leaves the
 * queue before it ends by them. */
#ifndef BATON_CLI_RUN_INTERRUPT_H
#define BATON_CLI_RUN_INTERRUPT_H

#include <signal.h>

struct interrupt {
    sigset_t taken;  /* SIGTERM, SIGHUP, SIGINT, SIGQUIT, without those that have no effect */
    sigset_t former; /* the mask of before */
    int descriptor;  /* readable once one of them has come; -1: they end the process */
};

/* Blocks the signals from now on. */
void interrupt_open(struct interrupt *ret);

/* Closes the descriptor. Returns the signal that has come, which stays blocked; 0: none. */
int interrupt_close(const struct interrupt *interrupt);

/* Ends this process as the signal does by default, without a core. Returns if it cannot, as in the
 * first process of a container. */
void interrupt_die(int signal);

#endif
