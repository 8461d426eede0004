/* https.h: batond's TLS certificate, the CA of its clients' certificates, and the TLS session of a
 * connection. */
#ifndef BATON_SERVER_HTTP_HTTPS_H
#define BATON_SERVER_HTTP_HTTPS_H

#include "base/failure.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <time.h>

/* It does not change once it is read, so every thread and session may use it. When the files are
 * read again, a new one takes its place. */
struct https;

/* Files in PEM. */
struct https_files {
    const char *certificate; /* followed by its intermediate certificates */
    const char *key;
    const char *client_ca; /* NULL: clients are not asked for a certificate */
};

/* Returns 0; -ENOTSUP if libmicrohttpd came without TLS; or -EINVAL, with a failure that names the
 * setting and the file, and says how to mend it. */
int https_read(struct https **ret, const struct https_files *files, struct failure *failure);

/* Why clients refuse the certificate because of its dates, as a line for the log; NULL if they do
 * not. */
const char *https_warning(const struct https *https);

/* Adds a reference. Takes NULL. */
struct https *https_keep(struct https *https);

/* Drops a reference; the last one frees. Takes NULL. */
void https_drop(struct https *https);

/* The session of one connection, zeroed at first. It keeps the https with which it began. */
struct https_session {
    struct https *https;
    gnutls_session_t session; /* libmicrohttpd's */
    bool is_read;             /* the next two are set */
    char *client;             /* common name; NULL: the client showed no certificate */
    time_t client_until;
};

/* Call this before the handshake. A client whose certificate is not trusted (another CA, not valid
 * now, not for clients) fails the handshake. */
void https_session_begin(struct https_session *session, struct https *https,
                         gnutls_session_t handle);

/* After the handshake: the common name in the client's certificate; "" if it has none or several;
 * NULL if the client showed no certificate, or it has ended since. Valid as long as the session. */
const char *https_session_client(struct https_session *session);

/* Sends close_notify, so that the client does not take the end for a truncation. Call this after
 * the handshake. Takes a zeroed session, too. */
void https_session_send_close_notify(struct https_session *session);

/* Ends the session; do not use it afterwards. Takes a zeroed session, too. */
void https_session_end(struct https_session *session);

#endif
