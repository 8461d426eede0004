/* close_notify.h: whether a TLS client has said goodbye in a message that nobody has read yet. */
#ifndef BATON_SERVER_HTTP_CLOSE_NOTIFY_H
#define BATON_SERVER_HTTP_CLOSE_NOTIFY_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* Looks at the next record in the socket, after the handshake, and takes nothing from it. True
 * where that is an alert: close_notify, by which a client ends its side as one without TLS does by
 * closing its, or a fatal one. A client that has sent more of a request before has not. */
bool close_notify_has_come(gnutls_session_t session, int fd);

#endif
