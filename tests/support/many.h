/* many.h: hundreds of HTTP requests under way at once, each on a connection of its own, all driven
 * by one thread. */
#ifndef BATON_TESTS_SUPPORT_MANY_H
#define BATON_TESTS_SUPPORT_MANY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MANY_TEXT = 8192 };

struct many;

/* One client: it sends one request at a time. Zeroed to begin with; must stay in its place while a
 * request is under way. */
struct many_client {
    /* The reply came, or the connection ended without one (status 0). May send the next. */
    void (*done)(struct many_client *client);
    void *context;

    /* The latest reply. */
    int status;       /* 0: none, or not all of it */
    int64_t sent;     /* microseconds of the monotonic clock, before the request went out */
    int64_t received; /* after the last byte of the reply came; without one, when that was known */
    char *headers;    /* the status line and the fields, as they came; NULL where none came */
    char *body;       /* NUL-terminated; NULL where none came */

    /* Its own. */
    struct many *many;
    int fd; /* -1 or 0 (as zeroed): none */
    bool connecting;
    size_t length;
    char text[MANY_TEXT]; /* the request, then the reply */
};

struct many *many_new(void);

/* Ends the connections that are left. Takes NULL. */
void many_free(struct many *many);

/* Connects to 127.0.0.1:`port` and sends. `token` and `body` (JSON) may be NULL. Where it cannot
 * even connect, `done` is called in the next many_run, with status 0. */
void many_send(struct many *many, struct many_client *client, int port, const char *method,
               const char *path, const char *token, const char *body);

/* The client goes away as a program that ends does; with `reset`, what it may still get is refused
 * at once. `done` is not called. Does nothing where no request is under way. Returns false where
 * its kernel had a reply by then. Behind a proxy, one that comes before the proxy closes counts,
 * too: the proxy had it, and no server can know more. */
bool many_hang_up(struct many_client *client, bool reset, bool by_proxy);

/* Whether a request is under way. */
bool many_is_busy(const struct many_client *client);

/* Whether its socket has something to read: it cannot say that it heard of nothing. */
bool many_has_reply(const struct many_client *client);

/* Serves them until `until` (monotonic microseconds), or until something happened. Returns how many
 * replies came or connections ended. */
int many_run(struct many *many, int64_t until);

/* The body parsed; NULL where it is no JSON. To be freed with json_decref. */
json_t *many_json(const struct many_client *client);

/* Copies the value of a header of the reply; "" where there is none. */
const char *many_header(const struct many_client *client, const char *name, char *value,
                        size_t size);

#endif
