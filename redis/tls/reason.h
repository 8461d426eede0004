/* reason.h: says why a TLS session with Redis has failed, and what to do about it. */
#ifndef BATON_REDIS_TLS_REASON_H
#define BATON_REDIS_TLS_REASON_H

#include "base/failure.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* What to do if a server does not answer by TLS. */
#define TLS_HINT "If this port has no TLS, write redis in place of rediss in redis-url."

/* Whether the error of GnuTLS says that the connection has ended, perhaps within a record. The
 * server may have reached its maxclients or be shutting down, so another try may help. */
bool tls_is_end(int error);

/* `error` is that of GnuTLS; `host` is what the certificate of Redis has to name. Returns -EPROTO
 * if a person has to act, else -ECONNRESET. */
int tls_reason(gnutls_session_t session, int error, const char *host, struct failure *failure);

#endif
