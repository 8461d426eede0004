#include "redis/tls/tls.h"

#include "base/host_name.h"
#include "base/memory.h"
#include "redis/tls/reason.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { EXPECTED_COUNT = 2 };

struct tls {
    gnutls_session_t session;
    int socket;
    char *host;                                     /* without a dot at its end */
    gnutls_typed_vdata_st expected[EXPECTED_COUNT]; /* of the certificate */
    int error;                                      /* of GnuTLS, that has ended the session */
    char *output;                                   /* what the socket did not take yet */
    size_t output_length;
    size_t written; /* bytes of a write that are encrypted, but not reported as sent */
};

/* Sending. To GnuTLS the socket seems to take everything. If a send of GnuTLS ends half-way, it may
 * count an alert or a message of its own as bytes of ours, or send ours twice: then every reply
 * after that would be taken for another request's. GnuTLS does not learn either that the other side
 * has closed: what that side said before, such as why, is yet to be read. */

static ssize_t tls_push(gnutls_transport_ptr_t context, const void *bytes, size_t length)
{
    struct tls *tls = context;
    ssize_t sent = tls->output_length > 0 ? 0 : send(tls->socket, bytes, length, MSG_NOSIGNAL);
    size_t rest = length - (sent > 0 ? (size_t)sent : 0);
    if (rest > 0) {
        tls->output = memory_checked(realloc(tls->output, tls->output_length + rest));
        memcpy(tls->output + tls->output_length, (const char *)bytes + length - rest, rest);
        tls->output_length += rest;
    }
    return (ssize_t)length;
}

/* Returns 0 when all is sent, -EAGAIN or another negative errno. */
static int tls_flush(struct tls *tls)
{
    if (tls->output_length == 0)
        return 0;
    ssize_t sent = send(tls->socket, tls->output, tls->output_length, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    tls->output_length -= (size_t)sent;
    memmove(tls->output, tls->output + sent, tls->output_length);
    if (tls->output_length > 0)
        return -EAGAIN;
    free(tls->output);
    tls->output = NULL;
    return 0;
}

/* Opening and closing */

/* An IP address must be among the certificate's addresses, a name among its names. Only a name may
 * be sent as SNI. Nobody looks whether the certificate was revoked: Redis cannot staple a proof. */
static int tls_expect_host(struct tls *tls)
{
    struct in6_addr address;
    tls->expected[0] =
        (gnutls_typed_vdata_st){.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)tls->host};
    tls->expected[1] =
        (gnutls_typed_vdata_st){.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_SERVER};
    gnutls_session_set_verify_cert2(tls->session, tls->expected, EXPECTED_COUNT,
                                    GNUTLS_VERIFY_DISABLE_CRL_CHECKS);
    if (inet_pton(AF_INET, tls->host, &address) == 1 ||
        inet_pton(AF_INET6, tls->host, &address) == 1)
        return 0;
    return gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, tls->host, strlen(tls->host));
}

/* Our certificate is shown whatever authorities Redis names, since it may trust more than these.
 * Tickets are of no use, because no session is resumed. */
static int tls_set_up(struct tls *tls, struct tls_trust *trust)
{
    int result = gnutls_init(&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK |
                                                GNUTLS_FORCE_CLIENT_CERT | GNUTLS_NO_TICKETS);
    if (result == 0)
        result = gnutls_priority_set(tls->session, trust->priority);
    if (result == 0)
        result = gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, trust->credentials);
    if (result == 0)
        result = tls_expect_host(tls);
    if (result < 0)
        return result;
    gnutls_transport_set_ptr2(tls->session, (gnutls_transport_ptr_t)(intptr_t)tls->socket, tls);
    gnutls_transport_set_push_function(tls->session, tls_push);
    return 0;
}

int tls_open(struct tls **ret, struct tls_trust *trust, int socket, const char *host,
             struct failure *failure)
{
    struct tls *tls = memory_checked(calloc(1, sizeof *tls));
    tls->socket = socket;
    tls->host = memory_checked(strndup(host, host_name_without_dot(slice_of(host)).length));
    int result = tls_set_up(tls, trust);
    if (result < 0) {
        tls_close(tls);
        return failure_set(failure, -EPROTO, "cannot set up TLS: %s", gnutls_strerror(result));
    }
    *ret = tls;
    return 0;
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    if (tls->session)
        gnutls_deinit(tls->session);
    free(tls->output);
    free(tls->host);
    free(tls);
}

/* The session */

const char *tls_error(const struct tls *tls, struct failure *failure)
{
    tls_reason(tls->session, tls->error, tls->host, failure);
    return failure->text;
}

int tls_handshake(struct tls *tls, bool *ret_wants_write, struct failure *failure)
{
    tls_flush(tls); /* GnuTLS meets an error as well, when it reads */
    int result = gnutls_handshake(tls->session);
    if (result == 0)
        return 0;
    if (!gnutls_error_is_fatal(result)) {
        *ret_wants_write = tls->output_length > 0;
        return -EAGAIN;
    }
    tls->error = result;
    int reason = tls_reason(tls->session, result, tls->host, failure);
    if (result == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        gnutls_alert_send_appropriate(tls->session, result); /* for the log of Redis */
    return reason;
}

/* What is not fatal is a message of TLS itself, such as a request to shake hands anew: RFC 5246,
 * 7.4.1.1, lets a client ignore it. */
static ssize_t tls_outcome(struct tls *tls, ssize_t result)
{
    int cause = errno;
    if (result >= 0)
        return result;
    if (!gnutls_error_is_fatal((int)result))
        return -EAGAIN;
    if (result == GNUTLS_E_PULL_ERROR)
        return cause ? -cause : -ECONNRESET;
    if (tls_is_end((int)result))
        return 0;
    tls->error = (int)result;
    return -EPROTO;
}

ssize_t tls_read(struct tls *tls, void *buffer, size_t size)
{
    errno = 0;
    return tls_outcome(tls, gnutls_record_recv(tls->session, buffer, size));
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t length)
{
    int result = tls_flush(tls);
    if (result == 0 && tls->written == 0) {
        size_t most = length < TLS_RECORD_LONGEST ? length : TLS_RECORD_LONGEST;
        ssize_t count = tls_outcome(tls, gnutls_record_send(tls->session, bytes, most));
        if (count <= 0)
            return count;
        tls->written = (size_t)count;
        result = tls_flush(tls);
    }
    if (result < 0)
        return result;
    ssize_t written = (ssize_t)tls->written;
    tls->written = 0;
    return written;
}
