/* sandbox.h: what this process gives up, so that a mistake in it is worth less to whoever finds it.
 */
#ifndef BATON_SERVER_PROCESS_SANDBOX_H
#define BATON_SERVER_PROCESS_SANDBOX_H

#include "base/failure.h"
#include "server/log/log.h"

/* To be called first of all: no core dumps; nobody but root may look into its memory, or trace it;
 * and no program that it starts gets more rights than it has. Returns 0 or a negative errno. */
int sandbox_harden(struct failure *failure);

/* Whether this build can filter system calls: libseccomp was there, and no sanitizer is, which
 * calls what serving does not need. Returns 0, or -ENOTSUP with a failure. */
int sandbox_check(struct failure *failure);

/* To be called before there is any loop, where there is going to be a sandbox: keeps libuv from
 * making loops that ask by io_uring, since what is asked so passes no filter. Returns 0 or a
 * negative errno with a failure. */
int sandbox_prepare(struct failure *failure);

/* Gives up all system calls but those that serving needs, for all threads and for good: whoever
 * takes the process over can start no program, write no file and trace no process. A call that is
 * not allowed ends the process by SIGSYS, with a line in `log` (which must stay) that names it.
 *
 * (Just to refuse it would leave a process that goes on in a way that nobody has tested; to kill it
 * at once, as seccomp can, tells the kernel's log alone, which few can read from a container.)
 *
 * Returns 0 or a negative errno with a failure. */
int sandbox_enter(const struct log *log, struct failure *failure);

#endif
