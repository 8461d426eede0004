/* check.h: asks the batond that the same settings describe whether it is ready. */
#ifndef BATON_SERVER_PROCESS_CHECK_H
#define BATON_SERVER_PROCESS_CHECK_H

#include "base/failure.h"
#include "server/settings/settings.h"

enum { CHECK_MS = 3000 }; /* a Redis that does not answer is told of within a second */

/* Asks for /readyz where `listen` says, on loopback where that is any address; by HTTPS where there
 * is a `tls-cert`, whose certificate is not checked: it names the host to others, not to the host
 * itself, and nothing secret is sent. For a container's health check, which has neither shell nor
 * curl. Blocks for CHECK_MS at most. Returns 0; or -EINVAL or -ENOTSUP where `listen` says nothing
 * to ask, or what the settings say of Redis would stop a start, or -EAGAIN where nobody says that
 * it is ready, with a failure that says why not. */
int check_readiness(const struct settings *settings, struct failure *failure);

#endif
