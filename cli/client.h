/* client.h: sends requests to batond, to one URL after another until one answers. */
#ifndef BATON_CLI_CLIENT_H
#define BATON_CLI_CLIENT_H

#include "cli/client_settings.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { REPLY_SHOWN = 2048 };

struct client;

struct request {
    const char *method;
    char *path;         /* percent-encoded, with its query */
    const char *token;  /* NULL: none */
    const json_t *body; /* NULL: none */
    int64_t wait_ms;    /* for how long batond may keep the request waiting */
    bool cannot_repeat; /* another batond gets it only if this one cannot have it */
    int64_t slack_ms;   /* 0: the client's; or how much later than wait_ms the answer may come, of
                           the batond that answered last, and no other */
    const atomic_bool *cancelled; /* NULL: never; has to be followed by client_wake */
};

/* What has come of a request. Free it with reply_free. */
struct reply {
    long status;    /* 0: no batond answered, and `trouble` says why */
    json_t *json;   /* an object, unless status is 0 */
    bool connected; /* a connection was made, so something listens there */
    char trouble[1024];
};

/* `settings` must outlive it. Free it with client_close. */
struct client *client_open(const struct client_settings *settings);

/* How long each batond may take to answer from now on. */
void client_set_timeout(struct client *client, int64_t ms);

/* Lets a request call `idle` about once a second while it waits for its reply. */
void client_on_idle(struct client *client, void (*idle)(void *context), void *context);

/* Waits for so long, or until client_wake. */
void client_pause(struct client *client, int64_t ms);

/* Has client_pause return, and a request look whether it is cancelled. Of any thread. */
void client_wake(struct client *client);

void client_close(struct client *client);

/* Returns "/locks/NAME" and what follows, with the name percent-encoded. */
char *client_path(const char *name, const char *rest);

/* Returns the path, which this frees, with the fields in its query (NULL-terminated: name, value,
 * ...) with their values encoded. A field whose value is NULL is left out. */
char *client_query(char *path, const char *const *fields);

/* Sends it and waits for the reply. Goes on with the next URL where no batond answers, or where one
 * or a proxy answers that it cannot serve now (STATUS_UNANSWERED). */
struct reply client_send(struct client *client, const struct request *request);

/* The `code` of a problem document; "" if the reply is none. */
const char *reply_code(const struct reply *reply);

/* Reads the body of a reply that has a status. Returns false, with status 0, if it is not of a
 * batond. */
bool reply_read(struct reply *reply, const char *bytes, size_t length);

/* Writes a text or a number of a reply, or else `absent` (NULL: nothing), so that a terminal is
 * safe from what a server sends. */
void reply_show(const json_t *value, const char *absent, char shown[REPLY_SHOWN]);

/* Writes `before` and such a text or number, or nothing if there is none. */
void reply_write(FILE *to, const char *before, const json_t *value);

/* A time in a reply: from 0 to a year, whatever a server sends. */
int64_t reply_ms(const json_t *object, const char *member);

void reply_free(struct reply *reply);

#endif
