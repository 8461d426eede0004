#include "server/http/https.h"

#include "base/credentials.h"
#include "base/memory.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <string.h>

enum {
    HANDSHAKE_LONGEST = 32 * 1024, /* bytes of one handshake message: a chain of certificates */
    COMMON_NAME_SIZE = 256,
};

/* TLS 1.2 and newer, forward secrecy, authenticated encryption. */
static const char PRIORITY[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:"
                               "-MAC-ALL:+AEAD:%SERVER_PRECEDENCE";

struct https {
    atomic_int references;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    bool asks_clients;
    time_t from, until; /* when the certificate is valid */
};

/* The alert for a client whose certificate is refused; the first match. */
static gnutls_alert_description_t https_alert_for(unsigned status)
{
    static const struct {
        unsigned status;
        gnutls_alert_description_t alert;
    } ALERTS[] = {
        {GNUTLS_CERT_SIGNER_NOT_FOUND, GNUTLS_A_UNKNOWN_CA},
        {GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED, GNUTLS_A_CERTIFICATE_EXPIRED},
        {GNUTLS_CERT_PURPOSE_MISMATCH, GNUTLS_A_UNSUPPORTED_CERTIFICATE},
    };
    for (size_t i = 0; i < sizeof ALERTS / sizeof ALERTS[0]; i++)
        if (status & ALERTS[i].status)
            return ALERTS[i].alert;
    return GNUTLS_A_BAD_CERTIFICATE;
}

/* Runs in the handshake; 0: go on. If the client shows no certificate, the API decides. Sends the
 * alert itself, since libmicrohttpd ends the connection without one. */
static int https_check_client(gnutls_session_t session)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned count = 0, status = 0;
    if (!gnutls_certificate_get_peers(session, &count) || count == 0)
        return 0;
    int result = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    if (result == 0 && status == 0)
        return 0;
    gnutls_alert_send(session, GNUTLS_AL_FATAL, https_alert_for(status));
    return GNUTLS_E_CERTIFICATE_ERROR;
}

/* Reads the dates of the certificate that it shows. */
static void https_read_dates(struct https *https)
{
    gnutls_x509_crt_t *chain;
    unsigned count;
    if (gnutls_certificate_get_x509_crt(https->credentials, 0, &chain, &count) < 0)
        abort();
    https->from = gnutls_x509_crt_get_activation_time(chain[0]);
    https->until = gnutls_x509_crt_get_expiration_time(chain[0]);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(chain[i]);
    gnutls_free(chain);
}

static int https_read_files(struct https *https, const struct https_files *files,
                            struct failure *failure)
{
    const struct credential certificate = {"tls-cert", files->certificate},
                            key = {"tls-key", files->key},
                            authorities = {"tls-client-ca", files->client_ca};
    int result = credentials_show(https->credentials, &certificate, &key, true, failure);
    if (result < 0)
        return result;
    https_read_dates(https);
    if (!files->client_ca)
        return 0;
    gnutls_certificate_set_verify_function(https->credentials, https_check_client);
    https->asks_clients = true;
    return credentials_trust(https->credentials, &authorities, failure);
}

int https_read(struct https **ret, const struct https_files *files, struct failure *failure)
{
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return failure_set(failure, -ENOTSUP,
                           "--tls-cert: the libmicrohttpd on this machine was built without TLS. "
                           "Install one with TLS, or put a proxy in front.");
    struct https *https = calloc(1, sizeof *https);
    if (!https || gnutls_certificate_allocate_credentials(&https->credentials) < 0 ||
        gnutls_priority_init(&https->priority, PRIORITY, NULL) < 0)
        abort();
    https->references = 1;
    int result = https_read_files(https, files, failure);
    if (result == 0)
        *ret = https;
    else
        https_drop(https);
    return result;
}

const char *https_warning(const struct https *https)
{
    time_t now = time(NULL);
    if (now < https->from)
        return "the certificate in tls-cert is not valid yet. Check the clock of this machine.";
    if (now >= https->until)
        return "the certificate in tls-cert has expired. Get a new one, and send SIGHUP.";
    return NULL;
}

struct https *https_keep(struct https *https)
{
    if (https)
        atomic_fetch_add(&https->references, 1);
    return https;
}

void https_drop(struct https *https)
{
    if (!https || atomic_fetch_sub(&https->references, 1) > 1)
        return;
    gnutls_certificate_free_credentials(https->credentials);
    gnutls_priority_deinit(https->priority);
    free(https);
}

/* Replaces what libmicrohttpd has set, which cannot change while a daemon lives. Gives out no
 * session tickets: a client that came back with one would not be asked for its certificate. */
void https_session_begin(struct https_session *session, struct https *https,
                         gnutls_session_t handle)
{
    *session = (struct https_session){.https = https_keep(https), .session = handle};
    gnutls_priority_set(handle, https->priority);
    gnutls_credentials_set(handle, GNUTLS_CRD_CERTIFICATE, https->credentials);
    gnutls_certificate_server_set_request(handle, https->asks_clients ? GNUTLS_CERT_REQUEST
                                                                      : GNUTLS_CERT_IGNORE);
    gnutls_handshake_set_max_packet_length(handle, HANDSHAKE_LONGEST);
}

/* "" unless there is exactly one: a client with two names could pass for either. */
static char *https_common_name(gnutls_x509_crt_t certificate)
{
    char name[COMMON_NAME_SIZE] = "", other[COMMON_NAME_SIZE];
    size_t size = sizeof name, other_size = sizeof other;
    int found =
        gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size);
    int second = gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 1, 0,
                                               other, &other_size);
    bool is_one =
        found == 0 && strlen(name) == size && second == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
    return memory_checked(strdup(is_one ? name : ""));
}

static void https_session_read_client(struct https_session *session)
{
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session->session, &count);
    gnutls_x509_crt_t certificate;
    if (!chain || count == 0 || gnutls_x509_crt_init(&certificate) < 0)
        return;
    if (gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER) == 0) {
        session->client = https_common_name(certificate);
        session->client_until = gnutls_x509_crt_get_expiration_time(certificate);
    }
    gnutls_x509_crt_deinit(certificate);
}

const char *https_session_client(struct https_session *session)
{
    if (session->https && session->https->asks_clients && !session->is_read) {
        https_session_read_client(session);
        session->is_read = true;
    }
    return session->client && time(NULL) < session->client_until ? session->client : NULL;
}

void https_session_send_close_notify(struct https_session *session)
{
    if (session->https)
        gnutls_bye(session->session, GNUTLS_SHUT_WR);
}

void https_session_end(struct https_session *session)
{
    https_drop(session->https);
    free(session->client);
    *session = (struct https_session){0};
}
