#include "redis/tls/reason.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stddef.h>

/* Says why batond refuses the certificate of Redis: the first match. */
static int reason_of_refusal(gnutls_session_t session, const char *host, struct failure *failure)
{
    static const struct {
        unsigned status;
        const char *text;
    } REASONS[] = {
        {GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA,
         "is signed by no authority that batond trusts. Put the certificate of its authority into "
         "redis-ca."},
        {GNUTLS_CERT_EXPIRED, "or that of its authority has expired. Renew it, and let Redis read "
                              "it."},
        {GNUTLS_CERT_NOT_ACTIVATED, "or that of its authority is not valid yet. Check the clock of "
                                    "this machine."},
        {GNUTLS_CERT_PURPOSE_MISMATCH, "is not for servers. Give Redis one that is."},
        {GNUTLS_CERT_INSECURE_ALGORITHM, "or that of its authority is too weak. RSA needs 2048 "
                                         "bits, and a signature SHA-256."},
    };
    unsigned status = gnutls_session_get_verify_cert_status(session);
    for (size_t i = 0; i < sizeof REASONS / sizeof REASONS[0]; i++)
        if (status & REASONS[i].status)
            return failure_set(failure, -EPROTO, "its certificate %s", REASONS[i].text);
    if (status & GNUTLS_CERT_UNEXPECTED_OWNER)
        return failure_set(failure, -EPROTO,
                           "its certificate does not name %s (hostname mismatch). Use a name that "
                           "it has in redis-url or in redis-server-name.",
                           host);
    gnutls_datum_t text = {0};
    gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
    failure_set(failure, -EPROTO, "%s", text.data ? (const char *)text.data : "not trusted");
    gnutls_free(text.data);
    return -EPROTO;
}

/* Says why Redis refuses us. An internal error is no fault of ours (RFC 8446, 6.2). */
static int reason_of_alert(gnutls_session_t session, struct failure *failure)
{
    static const struct {
        gnutls_alert_description_t alert;
        const char *text;
    } ALERTS[] = {
        {GNUTLS_A_CERTIFICATE_REQUIRED,
         "Redis wants a certificate from batond (certificate required). Set redis-cert and "
         "redis-key."},
        {GNUTLS_A_HANDSHAKE_FAILURE,
         "Redis refuses the handshake (handshake failure). If it wants a certificate from batond, "
         "set redis-cert and redis-key; else it has no cipher in common with batond."},
        {GNUTLS_A_UNKNOWN_CA, "Redis does not trust the certificate in redis-cert (unknown ca). "
                              "Its tls-ca-cert-file needs the authority of that certificate."},
        {GNUTLS_A_CERTIFICATE_EXPIRED, "the certificate in redis-cert has expired. Renew it, and "
                                       "restart batond."},
        {GNUTLS_A_PROTOCOL_VERSION, "Redis speaks neither TLS 1.2 nor TLS 1.3 (protocol version). "
                                    "Look at its tls-protocols."},
    };
    gnutls_alert_description_t alert = gnutls_alert_get(session);
    const char *name = gnutls_alert_get_name(alert);
    for (size_t i = 0; i < sizeof ALERTS / sizeof ALERTS[0]; i++)
        if (alert == ALERTS[i].alert)
            return failure_set(failure, -EPROTO, "%s", ALERTS[i].text);
    return failure_set(failure, alert == GNUTLS_A_INTERNAL_ERROR ? -ECONNRESET : -EPROTO,
                       "Redis refuses the connection by TLS: %s", name ? name : "unknown reason");
}

bool tls_is_end(int error)
{
    return error == GNUTLS_E_PREMATURE_TERMINATION || error == GNUTLS_E_PULL_ERROR ||
           error == GNUTLS_E_UNEXPECTED_PACKET_LENGTH || error == GNUTLS_E_SESSION_EOF;
}

/* The server answers by another protocol: Redis by an error of its own. */
static bool reason_is_no_tls(int error)
{
    return error == GNUTLS_E_UNEXPECTED_PACKET || error == GNUTLS_E_UNSUPPORTED_VERSION_PACKET ||
           error == GNUTLS_E_RECORD_OVERFLOW;
}

int tls_reason(gnutls_session_t session, int error, const char *host, struct failure *failure)
{
    if (error == GNUTLS_E_FATAL_ALERT_RECEIVED)
        return reason_of_alert(session, failure);
    if (error == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        return reason_of_refusal(session, host, failure);
    if (tls_is_end(error))
        return failure_set(
            failure, -ECONNRESET,
            "the other side closed it during the TLS handshake, as Redis does at its "
            "maxclients. " TLS_HINT);
    if (reason_is_no_tls(error))
        return failure_set(failure, -EPROTO, "the server there does not answer by TLS. " TLS_HINT);
    return failure_set(failure, -EPROTO, "%s", gnutls_strerror(error));
}
