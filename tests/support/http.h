/* http.h: an HTTP client for tests, one kept connection each. */
#ifndef BATON_TESTS_SUPPORT_HTTP_H
#define BATON_TESTS_SUPPORT_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The latest reply of a client, valid until its next call. */
struct http_reply {
    long status;       /* 0: there was none, and `trouble` says why */
    char *headers;     /* as they came, one a line; http_header looks one up */
    char *body;        /* NUL-terminated, never NULL */
    size_t length;     /* of the body */
    json_t *json;      /* the body parsed, NULL where it is not JSON */
    char trouble[256]; /* libcurl's message */
};

/* Files in PEM; each may be NULL. */
struct http_tls {
    const char *ca; /* whom to trust */
    const char *certificate, *key;
};

/* To be used by one thread at a time; any number of clients side by side. */
struct http_client {
    struct http_reply reply;
    void *curl;
    const struct http_tls *tls; /* NULL: as libcurl does by itself; of the test's own */
    char base[64];
    char header[1024]; /* what http_header found */
};

struct http_call {
    const char *method;         /* NULL: GET */
    const char *path;           /* sent as it is; or a whole URL */
    const char *body;           /* NULL: none; application/json unless `headers` say otherwise */
    size_t length;              /* of the body; 0: up to its NUL */
    const char *const *headers; /* "Name: value", NULL-terminated; "Name:" leaves one out */
    long timeout_ms;            /* 0: 20 s */
};

/* `base` is what a path is put behind, such as batond's url. */
struct http_client *http_client_new(const char *base);

/* Closes its connection. Takes NULL. */
void http_client_free(struct http_client *client);

/* Sends and waits for the reply, which is then client->reply. Returns its status, 0 for none: it
 * never fails the test, so that it can be used on any thread. */
long http_request(struct http_client *client, const struct http_call *call);

/* The same in short: http_call(client, "POST", "/locks/a?ttl=5s", NULL). */
long http_call(struct http_client *client, const char *method, const char *path, const char *body);

/* The value of a header of the latest reply, whatever the case of its name; NULL where there is
 * none. Valid until the next look-up or call. */
const char *http_header(struct http_client *client, const char *name);

/* A member of the latest reply's JSON object; NULL where there is none of that kind. */
const char *http_text(const struct http_client *client, const char *member);

/* The same for an integer; -1 where there is none. */
int64_t http_integer(const struct http_client *client, const char *member);

#endif
