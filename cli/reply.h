/* reply.h: the reply to a request, by batond or by a server in its place. */
#ifndef BATON_CLI_REPLY_H
#define BATON_CLI_REPLY_H

#include "cli/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { REPLY_SHOWN = 2048 };

/* The outcome of a request. Free it with reply_free. */
struct reply {
    long status;      /* 0: no batond answered, and `trouble` says why */
    json_t *json;     /* an object, unless status is 0 */
    bool is_foreign;  /* with status 0: no batond will answer until a setting changes */
    bool connected;   /* a connection was made, so a server listens there */
    int64_t retry_ms; /* when to ask again, by Retry-After; 0: not given */
    int signal;       /* the signal that ended the wait for it; 0: none */
    char trouble[1024];
};

/* The `code` of a problem document; "" if the reply is none. */
const char *reply_code(const struct reply *reply);

/* The exit status of a reply; STATUS_DONE for one without a problem; 128 and the signal that ended
 * the wait for it. */
enum status reply_status(const struct reply *reply);

/* What to do next with baton; NULL if the reply's detail says it, or there is no advice. */
const char *reply_advice(const struct reply *reply);

/* Reads the body of a reply with a status. Returns false, and sets status 0, if it is not
 * batond's. */
bool reply_read(struct reply *reply, const char *bytes, size_t length);

/* Writes a text or a number of a reply, otherwise `absent` (NULL: nothing). Escapes it, so that a
 * terminal is safe from what a server sends. */
void reply_show(const json_t *value, const char *absent, char shown[REPLY_SHOWN]);

/* Writes `before` and such a text or number, or nothing if there is none. */
void reply_write(FILE *to, const char *before, const json_t *value);

/* Writes how a hold ended: "was broken 3 s ago by ops from 10.0.0.7: site closed". `end` is the
 * `last_release` of a lock, or the `ended` of a problem. Returns false if it is neither. */
bool reply_describe_end(const json_t *end, char text[REPLY_SHOWN]);

/* A time in a reply: from 0 to a year, whatever a server sends. */
int64_t reply_ms(const json_t *object, const char *member);

void reply_free(struct reply *reply);

#endif
