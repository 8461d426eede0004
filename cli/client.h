/* client.h: sends requests to batond, to one URL after another until one answers. */
#ifndef BATON_CLI_CLIENT_H
#define BATON_CLI_CLIENT_H

#include "cli/client_settings.h"
#include "cli/reply.h"

#include <stdatomic.h>

struct client;

struct request {
    const char *method; /* NULL: GET */
    const char *path;   /* percent-encoded, with its query */
    const char *token;  /* NULL: none */
    const json_t *body; /* NULL: none */
    int64_t wait_ms;    /* for how long batond may keep the request waiting */
    bool cannot_repeat; /* another batond gets it only if this one cannot have it */
    int64_t slack_ms;   /* 0: the client's; or how much later than wait_ms the answer may come, of
                           the batond that answered last, and no other */
    const atomic_bool *cancelled; /* NULL: never; has to be followed by client_wake */
};

/* `settings` must outlive it. Free it with client_close. */
struct client *client_open(const struct client_settings *settings);

/* How long each batond may take to answer from now on. */
void client_set_timeout(struct client *client, int64_t ms);

/* Lets requests and pauses call `idle` about once a second. */
void client_on_idle(struct client *client, void (*idle)(void *context), void *context);

/* Ends requests and pauses when the descriptor is readable; -1: no more. */
void client_interrupt_by(struct client *client, int descriptor);

/* Whether it has ended one of them. */
bool client_is_interrupted(const struct client *client);

/* Waits for so long, or until client_wake. */
void client_pause(struct client *client, int64_t ms);

/* Has client_pause return, and a request look whether it is cancelled. Of any thread. */
void client_wake(struct client *client);

void client_close(struct client *client);

/* Returns "/locks/NAME" and what follows, with the name percent-encoded. */
char *client_path(const char *name, const char *rest);

/* Returns the path with the fields in its query (NULL-terminated: name, value, ...) and their
 * values encoded. Leaves out a field whose value is NULL. */
char *client_query(const char *path, const char *const *fields);

/* Sends it and waits for the reply. Goes on with the next URL where no batond answers, or where one
 * or a proxy answers that it cannot serve now (STATUS_UNANSWERED). */
struct reply client_send(struct client *client, const struct request *request);

#endif
