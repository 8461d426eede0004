/* secure.h: a batond that serves HTTPS, and the certificates of all who have to do with it. */
#ifndef BATON_TESTS_INTEGRATION_SECURE_H
#define BATON_TESTS_INTEGRATION_SECURE_H

#include "tests/integration/service.h"
#include "tests/support/certificates.h"
#include "tests/support/tls_client.h"

struct secure {
    struct temp_dir dir;
    struct certificate authority; /* of the server, trusted by `client` */
    struct certificate server;    /* dir/server.pem and .key, made anew by secure_renew */
    struct certificate clients;   /* the authority of the clients: dir/clients.pem */
    struct redis_process redis;
    struct batond_process batond;
    struct http_tls tls;
    struct http_client *client; /* shows no certificate */
    char tokens_file[120];      /* where to put one; there is none */
};

enum { SECURE_ARGUMENTS = 16 };

/* Makes the certificates. */
void secure_prepare(struct secure *secure);

/* Starts it, with more arguments (NULL-terminated; NULL: none). With `asks`, --tls-client-ca. */
void secure_start(struct secure *secure, bool asks, const char *const *arguments);

/* The same without waiting for it, for a start that is to be refused. */
void secure_launch(struct secure *secure, bool asks, const char *const *arguments);

/* Both at once. */
void secure_open(struct secure *secure, bool asks, const char *const *arguments);

/* Fails the test where batond did not end as it should. */
void secure_close(struct secure *secure);

/* Another certificate and key in the place of the server's. */
void secure_renew(struct secure *secure);

/* Sends SIGHUP and waits for a line of the log with this text in it. */
void secure_reload(struct secure *secure, const char *text);

/* A client that shows this certificate (NULL: none). To be freed with http_client_free. */
struct http_client *secure_client(struct secure *secure, struct http_tls *tls,
                                  const struct certificate *certificate);

/* A connection that has shown this certificate (NULL: none) and trusts the server's authority. */
bool secure_connect(struct secure *secure, struct tls_client *client,
                    const struct certificate *certificate, int version);

/* Sends "METHOD TARGET" and does not wait. */
void secure_ask(struct tls_client *client, const char *request);

/* Waits for the head of a reply. Returns its status, 0 where none comes. */
long secure_answer(struct tls_client *client, int timeout_ms);

#endif
