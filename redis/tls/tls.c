#include "redis/tls/tls.h"

#include "base/host_name.h"
#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

/* struct tls_trust is an SSL_CTX, and struct tls an SSL, under names of Baton. */
static SSL_CTX *tls_trust_context(struct tls_trust *trust)
{
    return (SSL_CTX *)(void *)trust;
}

static SSL *tls_session(struct tls *tls)
{
    return (SSL *)(void *)tls;
}

/* OpenSSL has one queue of errors per thread. An error left in it would look like the cause of a
 * later failure. */
const char *tls_error(void)
{
    const char *text = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return text ? text : "the connection was closed during the handshake";
}

/* Refuses to ask for a passphrase: batond may have a terminal, but no person in front of it. */
static int tls_no_passphrase(char *buffer, int size, int writing, void *context)
{
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static int tls_cannot_use(const char *setting, const char *file, struct failure *failure)
{
    return failure_set(failure, -EINVAL, "--%s: cannot use %s: %s", setting, file, tls_error());
}

static int tls_trust_authorities(SSL_CTX *context, const char *ca, struct failure *failure)
{
    if (ca && SSL_CTX_load_verify_file(context, ca) != 1)
        return tls_cannot_use("redis-ca", ca, failure);
    if (!ca && SSL_CTX_set_default_verify_paths(context) != 1)
        return failure_set(failure, -EPROTO, "cannot read the system's certificates: %s",
                           tls_error());
    return 0;
}

static int tls_identify(SSL_CTX *context, const struct tls_files *files, struct failure *failure)
{
    if (!files->certificate)
        return 0;
    SSL_CTX_set_default_passwd_cb(context, tls_no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        return tls_cannot_use("redis-cert", files->certificate, failure);
    /* This also fails if the key does not belong to the certificate. */
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1)
        return tls_cannot_use("redis-key", files->key, failure);
    return 0;
}

int tls_trust_open(struct tls_trust **ret, const struct tls_files *files, struct failure *failure)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return failure_set(failure, -ENOMEM, "cannot set up TLS: %s", tls_error());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* The unsent output may move in memory between two tries to write it. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int result = tls_trust_authorities(context, files->ca, failure);
    if (result == 0)
        result = tls_identify(context, files, failure);
    if (result < 0)
        SSL_CTX_free(context);
    else
        *ret = (struct tls_trust *)(void *)context;
    return result;
}

void tls_trust_close(struct tls_trust *trust)
{
    SSL_CTX_free(tls_trust_context(trust));
}

/* An IP address must be among the certificate's addresses, a name among its names. Only a name may
 * be sent as SNI. Both are without the dot that may be at the end of a name. */
static bool tls_expect_host(SSL *session, const char *host)
{
    char *name = memory_checked(strndup(host, host_name_without_dot(slice_of(host)).length));
    bool is_set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) == 1;
    if (!is_set) {
        ERR_clear_error();
        is_set = SSL_set1_host(session, name) == 1 && SSL_set_tlsext_host_name(session, name) == 1;
    }
    free(name);
    return is_set;
}

int tls_open(struct tls **ret, struct tls_trust *trust, int socket, const char *host,
             struct failure *failure)
{
    SSL *session = SSL_new(tls_trust_context(trust));
    if (!session || SSL_set_fd(session, socket) != 1 || !tls_expect_host(session, host)) {
        SSL_free(session);
        return failure_set(failure, -EPROTO, "cannot set up TLS: %s", tls_error());
    }
    SSL_set_connect_state(session);
    *ret = (struct tls *)(void *)session;
    return 0;
}

/* Whether the server has closed the connection, or answers by another protocol: Redis by an error
 * of its own. */
static bool tls_is_missing(unsigned long error)
{
    int reason = ERR_GET_REASON(error);
    return error == 0 || reason == SSL_R_WRONG_VERSION_NUMBER ||
           reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

int tls_handshake(struct tls *tls, bool *ret_wants_write, struct failure *failure)
{
    SSL *session = tls_session(tls);
    ERR_clear_error();
    int result = SSL_do_handshake(session);
    if (result == 1)
        return 0;
    int error = SSL_get_error(session, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        *ret_wants_write = error == SSL_ERROR_WANT_WRITE;
        return -EAGAIN;
    }
    long verdict = SSL_get_verify_result(session);
    bool is_missing = tls_is_missing(ERR_peek_error());
    const char *cause = tls_error();
    if (verdict != X509_V_OK)
        return failure_set(failure, -EPROTO, "%s", X509_verify_cert_error_string(verdict));
    return failure_set(failure, -EPROTO, is_missing ? "%s. " TLS_HINT : "%s", cause);
}

static ssize_t tls_outcome(SSL *session, int result)
{
    if (result > 0)
        return result;
    int cause = errno;
    switch (SSL_get_error(session, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        return cause ? -cause : -ECONNRESET;
    default:
        return -EPROTO; /* tls_error reads it from the thread's queue */
    }
}

static int tls_cut(size_t size)
{
    return size > INT_MAX ? INT_MAX : (int)size;
}

ssize_t tls_read(struct tls *tls, void *buffer, size_t size)
{
    ERR_clear_error();
    errno = 0;
    return tls_outcome(tls_session(tls), SSL_read(tls_session(tls), buffer, tls_cut(size)));
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t length)
{
    ERR_clear_error();
    errno = 0;
    return tls_outcome(tls_session(tls), SSL_write(tls_session(tls), bytes, tls_cut(length)));
}

void tls_close(struct tls *tls)
{
    SSL_free(tls_session(tls));
}
