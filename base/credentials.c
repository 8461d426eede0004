#include "base/credentials.h"

#include "base/file.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_LONGEST = 1 << 20, /* a file of authorities may hold many certificates */
    CHAIN_LONGEST = 16,
};

static const char NO_CERTIFICATE[] = "has no readable certificate (PEM)";

static int credentials_read(const struct credential *file, bool is_private, char **ret,
                            struct failure *failure)
{
    const struct file_options options = {file->setting, file->path, FILE_LONGEST, is_private};
    return file_read(&options, ret, NULL, failure);
}

static gnutls_datum_t credentials_datum(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

static int credentials_refuse(const struct credential *file, const char *why,
                              struct failure *failure)
{
    return failure_set(failure, -EINVAL, "--%s: %s %s", file->setting, file->path, why);
}

int credentials_trust(gnutls_certificate_credentials_t credentials,
                      const struct credential *authorities, struct failure *failure)
{
    char *text;
    int result = credentials_read(authorities, false, &text, failure);
    if (result < 0)
        return result;
    gnutls_datum_t datum = credentials_datum(text);
    if (gnutls_certificate_set_x509_trust_mem(credentials, &datum, GNUTLS_X509_FMT_PEM) <= 0)
        result = credentials_refuse(authorities, NO_CERTIFICATE, failure);
    free(text);
    return result;
}

/* GnuTLS reads both at once, and does not say which of the two it cannot read. */
static int credentials_check(const struct credential *certificate, char *text,
                             struct failure *failure)
{
    gnutls_x509_crt_t chain[CHAIN_LONGEST];
    unsigned count = CHAIN_LONGEST;
    gnutls_datum_t datum = credentials_datum(text);
    if (gnutls_x509_crt_list_import(chain, &count, &datum, GNUTLS_X509_FMT_PEM,
                                    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED) <= 0)
        return credentials_refuse(certificate, NO_CERTIFICATE, failure);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(chain[i]);
    return 0;
}

/* Says why a key does not go with its certificate. */
static int credentials_explain(const struct credential *certificate, const struct credential *key,
                               int result, struct failure *failure)
{
    if (result == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return failure_set(failure, -EINVAL, "--%s: %s is not the key of the certificate in %s",
                           key->setting, key->path, certificate->path);
    if (result == GNUTLS_E_DECRYPTION_FAILED)
        return credentials_refuse(
            key, "has a passphrase, and nobody is there to type it. Remove it with openssl pkey.",
            failure);
    return credentials_refuse(key, "has no readable key (PEM)", failure);
}

int credentials_show(gnutls_certificate_credentials_t credentials,
                     const struct credential *certificate, const struct credential *key,
                     bool is_private, struct failure *failure)
{
    char *shown = NULL, *secret = NULL;
    int result = credentials_read(certificate, false, &shown, failure);
    if (result == 0)
        result = credentials_check(certificate, shown, failure);
    if (result == 0)
        result = credentials_read(key, is_private, &secret, failure);
    if (result == 0) {
        gnutls_datum_t chain = credentials_datum(shown), datum = credentials_datum(secret);
        int set = gnutls_certificate_set_x509_key_mem2(credentials, &chain, &datum,
                                                       GNUTLS_X509_FMT_PEM, NULL, 0);
        if (set < 0)
            result = credentials_explain(certificate, key, set, failure);
        explicit_bzero(secret, strlen(secret));
    }
    free(secret);
    free(shown);
    return result;
}
