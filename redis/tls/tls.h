/* tls.h: a verified TLS session over a connected, non-blocking socket. */
#ifndef BATON_REDIS_TLS_TLS_H
#define BATON_REDIS_TLS_TLS_H

#include "redis/tls/trust.h"

#include <stdbool.h>
#include <sys/types.h>

struct tls;

enum { TLS_RECORD_LONGEST = 16 * 1024 }; /* bytes of one record */

/* The certificate must be valid for `host`, a name or an address. `trust` and the socket must
 * outlive the session. */
int tls_open(struct tls **ret, struct tls_trust *trust, int socket, const char *host,
             struct failure *failure);

/* Continues the handshake. Returns 0 when it is complete; -EAGAIN, and *ret_wants_write says what
 * to wait for; or, with a failure, -EPROTO if a person has to act, else -ECONNRESET. */
int tls_handshake(struct tls *tls, bool *ret_wants_write, struct failure *failure);

/* As recv and send, but an error is returned as a negative errno. -EAGAIN: wait for the socket,
 * which may be ready already. -EPROTO: the other side has refused us, or does not speak TLS;
 * tls_error says why.
 *
 * A read takes at most one record from the socket. With room for TLS_RECORD_LONGEST it returns all
 * of it, so that nothing is left where poll(2) cannot see it. After a write that returned -EAGAIN,
 * the next one has to begin with the same bytes, which may be elsewhere: they are encrypted. */
ssize_t tls_read(struct tls *tls, void *buffer, size_t size);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t length);

/* Call this after -EPROTO. Writes the reason, for people, and returns its text. */
const char *tls_error(const struct tls *tls, struct failure *failure);

/* Leaves the socket open. Takes NULL. */
void tls_close(struct tls *tls);

#endif
