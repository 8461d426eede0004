/* tls.h: a verified TLS session over a connected, non-blocking socket. */
#ifndef BATON_REDIS_TLS_TLS_H
#define BATON_REDIS_TLS_TLS_H

#include "base/failure.h"

#include <stdbool.h>
#include <sys/types.h>

/* The certificates to trust, and our own. Open it once: reading the system's certificates takes
 * milliseconds. */
struct tls_trust;

/* Files in PEM; each may be NULL. */
struct tls_files {
    const char *ca;          /* the CAs to trust, in place of the system's certificates */
    const char *certificate; /* our certificate and those that lead to its root */
    const char *key;         /* of that certificate */
};

struct tls;

/* What to do if a server does not answer by TLS. */
#define TLS_HINT "If this port has no TLS, write redis in place of rediss in redis-url."

/* Returns 0 or a negative errno with a failure. -EINVAL: the failure names the setting and the
 * file; batond cannot read it, or the key does not belong to the certificate. */
int tls_trust_open(struct tls_trust **ret, const struct tls_files *files, struct failure *failure);

/* Takes NULL. */
void tls_trust_close(struct tls_trust *trust);

/* The certificate must be valid for `host`, a name or an address. `trust` and the socket must
 * outlive the session. */
int tls_open(struct tls **ret, struct tls_trust *trust, int socket, const char *host,
             struct failure *failure);

/* Continues the handshake. Returns 0 when it is complete; -EAGAIN, and *ret_wants_write says what
 * to wait for; or -EPROTO with a failure. */
int tls_handshake(struct tls *tls, bool *ret_wants_write, struct failure *failure);

/* As recv and send, but an error is returned as a negative errno. -EAGAIN: wait for the socket.
 * -EPROTO: the other side has refused us, or does not speak TLS; tls_error says why. */
ssize_t tls_read(struct tls *tls, void *buffer, size_t size);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t length);

/* Call this right after -EPROTO, in the same thread. Returns the reason, for people; the text is
 * never freed. */
const char *tls_error(void);

/* Leaves the socket open. Takes NULL. */
void tls_close(struct tls *tls);

#endif
