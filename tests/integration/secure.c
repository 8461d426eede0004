#include "tests/integration/secure.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MS = 5000 };

static const char NAMES[] = "DNS:localhost,IP:127.0.0.1";

void secure_renew(struct secure *secure)
{
    certificate_make(&secure->server, &secure->dir, "server",
                     &(struct certificate_options){.issuer = &secure->authority, .names = NAMES});
}

void secure_prepare(struct secure *secure)
{
    *secure = (struct secure){0};
    temp_dir_make(&secure->dir);
    snprintf(secure->tokens_file, sizeof secure->tokens_file, "%s/tokens.json", secure->dir.path);
    certificate_make(&secure->authority, &secure->dir, "authority",
                     &(struct certificate_options){.authority = true});
    certificate_make(&secure->clients, &secure->dir, "clients",
                     &(struct certificate_options){.authority = true});
    secure_renew(secure);
    redis_process_start(&secure->redis, NULL);
}

void secure_launch(struct secure *secure, bool asks, const char *const *arguments)
{
    const char *list[SECURE_ARGUMENTS] = {"--tls-cert", secure->server.file, "--tls-key",
                                          secure->server.key};
    size_t count = 4;
    if (asks) {
        list[count++] = "--tls-client-ca";
        list[count++] = secure->clients.file;
    }
    for (; arguments && *arguments; arguments++)
        list[count++] = *arguments;
    batond_process_launch(&secure->batond, &(struct batond_options){.redis_url = secure->redis.url,
                                                                    .arguments = list});
}

void secure_start(struct secure *secure, bool asks, const char *const *arguments)
{
    secure_launch(secure, asks, arguments);
    if (!batond_process_listening(&secure->batond, 4 * LINE_MS))
        fail_msg("%s", process_output(&secure->batond.process));
    secure->client = secure_client(secure, &secure->tls, NULL);
}

void secure_open(struct secure *secure, bool asks, const char *const *arguments)
{
    secure_prepare(secure);
    secure_start(secure, asks, arguments);
}

void secure_close(struct secure *secure)
{
    http_client_free(secure->client);
    int code = batond_process_stop(&secure->batond);
    redis_process_stop(&secure->redis);
    temp_dir_remove(&secure->dir);
    assert_int_equal(code, 0);
}

void secure_reload(struct secure *secure, const char *text)
{
    char *output = process_output(&secure->batond.process);
    size_t offset = strlen(output);
    free(output);
    process_signal(&secure->batond.process, SIGHUP);
    if (!process_wait_line(&secure->batond.process, text, &offset, NULL, 0, LINE_MS))
        fail_msg("no `%s` in %s", text, process_output(&secure->batond.process));
}

struct http_client *secure_client(struct secure *secure, struct http_tls *tls,
                                  const struct certificate *certificate)
{
    *tls = (struct http_tls){.ca = secure->authority.file};
    if (certificate) {
        tls->certificate = certificate->file;
        tls->key = certificate->key;
    }
    struct http_client *client = http_client_new(secure->batond.url);
    client->tls = tls;
    return client;
}

bool secure_connect(struct secure *secure, struct tls_client *client,
                    const struct certificate *certificate, int version)
{
    return tls_client_open(client, secure->batond.port,
                           &(struct tls_options){.ca = &secure->authority,
                                                 .certificate = certificate,
                                                 .version = version});
}

void secure_ask(struct tls_client *client, const char *request)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: localhost\r\n\r\n", request);
    assert_true(tls_client_send(client, text, (size_t)length));
}

long secure_answer(struct tls_client *client, int timeout_ms)
{
    char text[4096];
    tls_client_receive(client, text, sizeof text, "\r\n\r\n", timeout_ms);
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? strtol(text + 9, NULL, 10) : 0;
}
