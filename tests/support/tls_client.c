#include "tests/support/tls_client.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 10000 };

static SSL *session_of(const struct tls_client *client)
{
    return client->session;
}

/* After a call that could not go on: waits until it can. False where it never will, or not in time.
 */
static bool can_go_on(struct tls_client *client, int result, int64_t deadline)
{
    int error = SSL_get_error(session_of(client), result);
    struct pollfd socket = {.fd = client->fd, .events = POLLIN};
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        int64_t left = deadline - clock_ms();
        if (error == SSL_ERROR_WANT_WRITE)
            socket.events = POLLOUT;
        return left > 0 && poll(&socket, 1, (int)left) > 0;
    }
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (error != SSL_ERROR_ZERO_RETURN)
        snprintf(client->trouble, sizeof client->trouble, "%s", reason ? reason : "closed");
    return false;
}

static SSL_CTX *context_for(const struct tls_options *options)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context, 0); /* so that old versions can be tried */
    SSL_CTX_set_min_proto_version(context, options->version);
    SSL_CTX_set_max_proto_version(context, options->version);
    if (options->ca) {
        assert_int_equal(SSL_CTX_load_verify_file(context, options->ca->file), 1);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    }
    if (options->certificate) {
        assert_int_equal(SSL_CTX_use_certificate_chain_file(context, options->certificate->file),
                         1);
        assert_int_equal(
            SSL_CTX_use_PrivateKey_file(context, options->certificate->key, SSL_FILETYPE_PEM), 1);
    }
    return context;
}

bool tls_client_open(struct tls_client *client, int port, const struct tls_options *options)
{
    return tls_client_start(client, raw_connect(port), options);
}

bool tls_client_start(struct tls_client *client, int fd, const struct tls_options *options)
{
    SSL_CTX *context = context_for(options);
    *client = (struct tls_client){.fd = fd, .session = SSL_new(context)};
    SSL_CTX_free(context);
    assert_true(client->fd >= 0);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    /* Or the kernel keeps a goodbye back until the request before it is acknowledged. */
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    SSL_set_fd(session_of(client), client->fd);
    SSL_set1_host(session_of(client), "localhost");
    int64_t deadline = clock_ms() + CONNECT_MS;
    int result;
    ERR_clear_error();
    while ((result = SSL_connect(session_of(client))) != 1)
        if (!can_go_on(client, result, deadline))
            return false;
    return true;
}

bool tls_client_send(struct tls_client *client, const char *bytes, size_t length)
{
    int64_t deadline = clock_ms() + CONNECT_MS;
    int result;
    ERR_clear_error();
    while ((result = SSL_write(session_of(client), bytes, (int)length)) <= 0)
        if (!can_go_on(client, result, deadline))
            return false;
    return true;
}

size_t tls_client_receive(struct tls_client *client, char *buffer, size_t size, const char *until,
                          int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    size_t length = 0;
    buffer[0] = '\0';
    ERR_clear_error();
    while (length + 1 < size && !(until && strstr(buffer, until))) {
        int result = SSL_read(session_of(client), buffer + length, (int)(size - length - 1));
        if (result > 0)
            buffer[length += (size_t)result] = '\0';
        else if (!can_go_on(client, result, deadline))
            break;
    }
    return length;
}

bool tls_client_is_ended(struct tls_client *client, int timeout_ms)
{
    char rest[4096];
    tls_client_receive(client, rest, sizeof rest, NULL, timeout_ms);
    return SSL_get_shutdown(session_of(client)) & SSL_RECEIVED_SHUTDOWN;
}

void tls_client_server(const struct tls_client *client, char serial[80])
{
    X509 *certificate = SSL_get1_peer_certificate(session_of(client));
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    char *text = BN_bn2hex(number);
    snprintf(serial, 80, "%s", text);
    OPENSSL_free(text);
    BN_free(number);
    X509_free(certificate);
}

void tls_client_end(struct tls_client *client, enum tls_end how)
{
    if (how == TLS_END_NORMAL || how == TLS_END_GOODBYE)
        SSL_shutdown(session_of(client));
    if (how == TLS_END_SHUTDOWN)
        shutdown(client->fd, SHUT_WR);
    if (how == TLS_END_RESET)
        setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0},
                   sizeof(struct linger));
    if (how == TLS_END_NORMAL || how == TLS_END_CLOSED || how == TLS_END_RESET) {
        close(client->fd);
        client->fd = -1;
    }
}

void tls_client_close(struct tls_client *client)
{
    SSL_free(session_of(client));
    if (client->session && client->fd >= 0)
        close(client->fd);
    *client = (struct tls_client){.fd = -1};
}
