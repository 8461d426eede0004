/* check.h: asks the batond that the same settings describe whether it is ready. */
#ifndef BATON_SERVER_PROCESS_CHECK_H
#define BATON_SERVER_PROCESS_CHECK_H

#include "base/deadline.h"
#include "base/failure.h"
#include "server/settings/settings.h"

enum { CHECK_MS = DEADLINE_MS(3000) }; /* longer than batond takes to notice a silent Redis */

/* Requests /readyz at `listen`, or on loopback if that is any address. With a `tls-cert` it uses
 * HTTPS. It does not check the certificate, which is for the name that other hosts use, and it
 * sends no secret. It is meant for the health check of a container that has neither shell nor curl.
 * Blocks for CHECK_MS at most. Returns 0; -EINVAL or -ENOTSUP if the settings would stop a start or
 * `listen` has no port; or -EAGAIN if no batond answers that it is ready, with a failure that says
 * why. */
int check_readiness(const struct settings *settings, struct failure *failure);

#endif
