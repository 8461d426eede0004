/* certificates.h: certificates and their keys, made by a test as it needs them. */
#ifndef BATON_TESTS_SUPPORT_CERTIFICATES_H
#define BATON_TESTS_SUPPORT_CERTIFICATES_H

#include "tests/support/temp_dir.h"

#include <stdbool.h>

struct certificate {
    char file[120]; /* in PEM */
    char key[120];  /* in PEM, mode 0600 */
};

struct certificate_options {
    const struct certificate *issuer; /* NULL: it vouches for itself */
    bool authority;                   /* it may vouch for others */
    const char *common_name;          /* NULL: the name of the file */
    const char *names;                /* such as "DNS:localhost,IP:127.0.0.1"; may be NULL */
    const char *usage;                /* such as "clientAuth"; NULL: any */
    const char *key_usage;            /* such as "keyEncipherment"; NULL: any */
    bool with_issuer;                 /* the file has the issuer's certificate, too */
    int rsa_bits;                     /* of an RSA key; 0: P-256 */
    long from_s;                      /* begins so long from now, less a minute */
    long until_s;                     /* ends so long from now; 0: in an hour */
};

/* Makes NAME.pem and NAME.key in the directory, or makes them anew. */
void certificate_make(struct certificate *ret, const struct temp_dir *dir, const char *name,
                      const struct certificate_options *options);

#endif
