/* https.h: what TLS clients are shown and asked: batond's certificate, and whose certificates
 * count.
 */
#ifndef BATON_SERVER_HTTP_HTTPS_H
#define BATON_SERVER_HTTP_HTTPS_H

#include "base/failure.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <time.h>

/* Does not change once it is read, so that all threads and sessions may use it; another takes its
 * place when the files are read again. */
struct https;

/* Files in PEM. */
struct https_files {
    const char *certificate; /* followed by what leads to its root */
    const char *key;
    const char *client_ca; /* NULL: clients are not asked for a certificate */
};

/* Returns 0; -ENOTSUP where libmicrohttpd came without TLS; or -EINVAL, with a failure that names
 * the setting and the file, and says how to mend it. */
int https_read(struct https **ret, const struct https_files *files, struct failure *failure);

/* Why clients will refuse the certificate by its dates, as a line for a log; NULL where they will
 * not. */
const char *https_warning(const struct https *https);

/* Another reference. Takes NULL. */
struct https *https_keep(struct https *https);

/* One reference less; the last one frees. Takes NULL. */
void https_drop(struct https *https);

/* What is known of one connection's session; zeroed to begin with. It keeps what the session was
 * begun with as long as that lasts. */
struct https_session {
    struct https *https;
    gnutls_session_t session; /* the HTTP library's */
    bool is_read;             /* the two below */
    char *client;             /* NULL: it has shown no certificate */
    time_t client_until;
};

/* Before its handshake. A client that shows a certificate which is not to be trusted - by another
 * CA, not yet or no longer valid, not for clients - does not get through it. */
void https_session_begin(struct https_session *session, struct https *https,
                         gnutls_session_t handle);

/* After the handshake: the common name of the certificate that the client has shown, "" where that
 * has none (or several), NULL where it has shown none, or one that has ended since. Valid as long
 * as the session. */
const char *https_session_client(struct https_session *session);

/* Ends our side of it, so that the client does not take what follows for a cut. After the
 * handshake. Takes a zeroed one, too. */
void https_session_send_close_notify(struct https_session *session);

/* The session must not be used any more. Takes a zeroed one, too. */
void https_session_end(struct https_session *session);

#endif
