/* tls_client.h: a connection over TLS that does what no HTTP client does, and ends in every way. */
#ifndef BATON_TESTS_SUPPORT_TLS_CLIENT_H
#define BATON_TESTS_SUPPORT_TLS_CLIENT_H

#include "tests/support/certificates.h"

#include <stdbool.h>
#include <stddef.h>

struct tls_client {
    int fd;
    void *session;
    char trouble[200]; /* why it could not connect, or what ended it; "" */
};

struct tls_options {
    const struct certificate *ca;          /* NULL: anybody is trusted */
    const struct certificate *certificate; /* to show; may be NULL */
    int version;                           /* such as TLS1_2_VERSION; 0: any */
};

enum tls_end {
    TLS_END_NORMAL,   /* close_notify, and the socket closed */
    TLS_END_GOODBYE,  /* close_notify alone: the socket stays open */
    TLS_END_SHUTDOWN, /* the socket shut for writing, without a word of TLS */
    TLS_END_CLOSED,   /* the socket closed without a word of TLS */
    TLS_END_RESET,
    TLS_ENDS,
};

/* Connects to 127.0.0.1:`port`. False, with its trouble, where the handshake fails. To be closed in
 * any case. */
bool tls_client_open(struct tls_client *client, int port, const struct tls_options *options);

/* The same over a socket that is connected, which is taken over. */
bool tls_client_start(struct tls_client *client, int fd, const struct tls_options *options);

bool tls_client_send(struct tls_client *client, const char *bytes, size_t length);

/* Reads until the other side ends, the buffer (NUL-terminated) is full, `until` (may be NULL) has
 * come, or `timeout_ms` have passed. */
size_t tls_client_receive(struct tls_client *client, char *buffer, size_t size, const char *until,
                          int timeout_ms);

/* Whether the other side ends the connection, by close_notify (else its trouble says how). */
bool tls_client_is_ended(struct tls_client *client, int timeout_ms);

/* The serial number of the server's certificate, in hexadecimal. */
void tls_client_server(const struct tls_client *client, char serial[80]);

/* Goes in this way; it is still to be closed. */
void tls_client_end(struct tls_client *client, enum tls_end how);

/* Frees it. Takes a zeroed one, too. */
void tls_client_close(struct tls_client *client);

#endif
