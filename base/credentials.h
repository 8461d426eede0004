/* credentials.h: reads the certificates and keys that settings name, for GnuTLS. */
#ifndef BATON_BASE_CREDENTIALS_H
#define BATON_BASE_CREDENTIALS_H

#include "base/failure.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* A file in PEM, and the setting that names it. */
struct credential {
    const char *setting; /* for messages: "redis-ca" */
    const char *path;
};

/* Both return 0, or -EINVAL with a failure that names the setting and the file, and says how to
 * mend it. */

/* Trusts the certificates in the file. */
int credentials_trust(gnutls_certificate_credentials_t credentials,
                      const struct credential *authorities, struct failure *failure);

/* Shows the certificate, and the intermediate ones behind it in the file. `is_private`: only the
 * owner and the group may have access to the key's file. */
int credentials_show(gnutls_certificate_credentials_t credentials,
                     const struct credential *certificate, const struct credential *key,
                     bool is_private, struct failure *failure);

#endif
