/* check.h: --check: reads all settings as a start does, and asks the batond that they describe
 * whether it is ready. */
#ifndef BATON_SERVER_PROCESS_CHECK_H
#define BATON_SERVER_PROCESS_CHECK_H

#include "server/process/process.h"

/* Call prepare_files before. Reads settings and files, so that a fault that would stop the next
 * start shows while the running batond still uses what it read last.
 *
 * Then, unless it is --check=config, requests /readyz at `listen` or `admin-listen`, or on loopback
 * if that is any address. With a `tls-cert` it uses HTTPS. It does not check the certificate, which
 * is for the name that other hosts use, and sends no secret. It is meant for the health check of a
 * container without shell and curl. Blocks for redis-timeout and some seconds at most, or twice
 * that.
 *
 * With redis-keeps=all, asks Redis whether its settings speak against it, and warns on stderr.
 *
 * Prints one line and returns 0 if all is well. Otherwise a negative errno with a failure that says
 * why: as prepare_read, -EINVAL if the address has no port, or -EAGAIN if no batond answers that it
 * is ready. */
int check_run(struct process *process, struct failure *failure);

#endif
