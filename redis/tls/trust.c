#include "redis/tls/trust.h"

#include "base/credentials.h"
#include "base/memory.h"

#include <errno.h>

/* TLS 1.2 and newer, and no key or signature with less than 112 bits of security: RSA has at least
 * 2048 bits. COMPAT: many a certificate of a private authority does not say that its key may sign
 * (key usage), and OpenSSL, and so Redis, takes no offence at that. */
static const char PRIORITY[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%PROFILE_MEDIUM:%COMPAT";

static int tls_trust_system(gnutls_certificate_credentials_t credentials, struct failure *failure)
{
    int count = gnutls_certificate_set_x509_system_trust(credentials);
    if (count > 0)
        return 0;
    return failure_set(failure, -EPROTO,
                       "this machine has no certificates to trust%s%s. Install ca-certificates, or "
                       "set redis-ca.",
                       count < 0 ? ": " : "", count < 0 ? gnutls_strerror(count) : "");
}

static int tls_trust_read(gnutls_certificate_credentials_t credentials,
                          const struct tls_files *files, struct failure *failure)
{
    const struct credential ca = {"redis-ca", files->ca},
                            certificate = {"redis-cert", files->certificate},
                            key = {"redis-key", files->key};
    int result = files->ca ? credentials_trust(credentials, &ca, failure)
                           : tls_trust_system(credentials, failure);
    if (result == 0 && files->certificate)
        result = credentials_show(credentials, &certificate, &key, false, failure);
    return result;
}

int tls_trust_open(struct tls_trust **ret, const struct tls_files *files, struct failure *failure)
{
    struct tls_trust *trust = memory_checked(calloc(1, sizeof *trust));
    if (gnutls_certificate_allocate_credentials(&trust->credentials) < 0 ||
        gnutls_priority_init(&trust->priority, PRIORITY, NULL) < 0)
        abort();
    trust->references = 1;
    int result = tls_trust_read(trust->credentials, files, failure);
    if (result == 0)
        *ret = trust;
    else
        tls_trust_drop(trust);
    return result;
}

struct tls_trust *tls_trust_keep(struct tls_trust *trust)
{
    if (trust)
        atomic_fetch_add(&trust->references, 1);
    return trust;
}

void tls_trust_drop(struct tls_trust *trust)
{
    if (!trust || atomic_fetch_sub(&trust->references, 1) > 1)
        return;
    gnutls_certificate_free_credentials(trust->credentials);
    gnutls_priority_deinit(trust->priority);
    free(trust);
}
