/* trust.h: the certificates of Redis to trust, and our own. */
#ifndef BATON_REDIS_TLS_TRUST_H
#define BATON_REDIS_TLS_TRUST_H

#include "base/failure.h"

#include <gnutls/gnutls.h>
#include <stdatomic.h>

/* It does not change once it is read, so every thread and session may use it. Open it once: the
 * system's certificates take milliseconds, and megabytes. */
struct tls_trust {
    atomic_int references;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority; /* which versions and algorithms will do */
};

/* Files in PEM; each may be NULL. */
struct tls_files {
    const char *ca;          /* the CAs to trust, in place of the system's certificates */
    const char *certificate; /* our certificate and those that lead to its root */
    const char *key;         /* of that certificate */
};

/* Returns 0 or a negative errno with a failure. -EINVAL: the failure names the setting and the
 * file; batond cannot read it, or the key does not belong to the certificate. */
int tls_trust_open(struct tls_trust **ret, const struct tls_files *files, struct failure *failure);

/* Adds a reference. Takes NULL. */
struct tls_trust *tls_trust_keep(struct tls_trust *trust);

/* Drops a reference; the last one frees. Takes NULL. */
void tls_trust_drop(struct tls_trust *trust);

#endif
