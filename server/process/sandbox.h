/* sandbox.h: drops rights of the process, so that a bug is worth less to an attacker. */
#ifndef BATON_SERVER_PROCESS_SANDBOX_H
#define BATON_SERVER_PROCESS_SANDBOX_H

#include "base/failure.h"
#include "server/log/log.h"

/* Call this first of all. Forbids core dumps. From then on only root may read the memory of batond
 * or trace it, and programs that batond starts get no further rights. Returns 0 or a negative
 * errno. */
int sandbox_harden(struct failure *failure);

/* Whether this build can filter system calls: it has libseccomp, and no sanitizer, which would need
 * further calls. Returns 0, or -ENOTSUP with a failure. */
int sandbox_check(struct failure *failure);

/* If there will be a sandbox, call this before any loop exists. It keeps libuv from using io_uring,
 * whose operations pass no filter. Returns 0 or a negative errno with a failure. */
int sandbox_prepare(struct failure *failure);

/* Keeps only the system calls that serving needs, for all threads and for good. An attacker in the
 * process can start no program, write no file and trace no process. Any other call ends the process
 * by SIGSYS, with a line in `log` (which must stay) that names the call.
 *
 * Refusing the call would leave batond in an untested state. Killing batond at once, as seccomp
 * can, writes only to the kernel's log, which few people can read from a container.
 *
 * Returns 0 or a negative errno with a failure. */
int sandbox_enter(const struct log *log, struct failure *failure);

#endif
