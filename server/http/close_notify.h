/* close_notify.h: whether a TLS client has closed its side, by a message that is still unread. */
#ifndef BATON_SERVER_HTTP_CLOSE_NOTIFY_H
#define BATON_SERVER_HTTP_CLOSE_NOTIFY_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* Peeks at the next record in the socket; call this after the handshake. True if it is an alert:
 * close_notify, which ends the client's side as a FIN does without TLS, or a fatal alert. False if
 * the client has sent more of a request before it. */
bool close_notify_has_come(gnutls_session_t session, int fd);

#endif
