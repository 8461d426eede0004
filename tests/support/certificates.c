#include "tests/support/certificates.h"

#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MINUTE_S = 60, HOUR_S = 3600 };

static FILE *open_file(const char *path, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    return fdopen(fd, "w");
}

static void write_files(const struct certificate *at, X509 *certificate, X509 *issuer,
                        EVP_PKEY *key)
{
    FILE *file = open_file(at->file, 0644);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    if (issuer)
        assert_int_equal(PEM_write_X509(file, issuer), 1);
    fclose(file);
    file = open_file(at->key, 0600);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

static X509 *read_certificate(const struct certificate *from)
{
    FILE *file = fopen(from->file, "r");
    assert_non_null(file);
    X509 *certificate = PEM_read_X509(file, NULL, NULL, NULL);
    assert_non_null(certificate);
    fclose(file);
    return certificate;
}

static EVP_PKEY *read_key(const struct certificate *from)
{
    FILE *file = fopen(from->key, "r");
    assert_non_null(file);
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    assert_non_null(key);
    fclose(file);
    return key;
}

static void extend(X509 *certificate, int kind, const char *text)
{
    if (!text)
        return;
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, text);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static void fill(X509 *certificate, const char *name, const struct certificate_options *options)
{
    const char *common_name = options->common_name ? options->common_name : name;
    uint32_t serial;
    RAND_bytes((unsigned char *)&serial, sizeof serial);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial | 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), options->from_s - MINUTE_S);
    X509_gmtime_adj(X509_getm_notAfter(certificate), options->until_s ? options->until_s : HOUR_S);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                               (const unsigned char *)common_name, -1, -1, 0);
    extend(certificate, NID_basic_constraints, options->authority ? "critical,CA:TRUE" : NULL);
    extend(certificate, NID_key_usage,
           options->authority ? "critical,keyCertSign" : options->key_usage);
    extend(certificate, NID_subject_alt_name, options->names);
    extend(certificate, NID_ext_key_usage, options->usage);
}

static void vouch(X509 *certificate, X509 *issuer, EVP_PKEY *key)
{
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
}

void certificate_make(struct certificate *ret, const struct temp_dir *dir, const char *name,
                      const struct certificate_options *options)
{
    EVP_PKEY *key = options->rsa_bits
                        ? EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)options->rsa_bits)
                        : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *certificate = X509_new(), *issuer = NULL;
    fill(certificate, name, options);
    X509_set_pubkey(certificate, key);
    if (options->issuer) {
        issuer = read_certificate(options->issuer);
        EVP_PKEY *issuer_key = read_key(options->issuer);
        vouch(certificate, issuer, issuer_key);
        EVP_PKEY_free(issuer_key);
    } else {
        vouch(certificate, certificate, key);
    }
    snprintf(ret->file, sizeof ret->file, "%s/%s.pem", dir->path, name);
    snprintf(ret->key, sizeof ret->key, "%s/%s.key", dir->path, name);
    write_files(ret, certificate, options->with_issuer ? issuer : NULL, key);
    X509_free(issuer);
    X509_free(certificate);
    EVP_PKEY_free(key);
}
