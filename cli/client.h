/* client.h: sends requests to batond: to one URL after another until one answers. */
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
    int64_t wait_ms;    /* how long batond may keep the request waiting */
    bool cannot_repeat; /* goes to another batond only if no connection to this one was made */
    int64_t slack_ms; /* how much later than wait_ms the answer may come; then only the batond that
                       * answered last is asked. 0: the client's timeout */
    const atomic_bool *cancelled; /* NULL: never; call client_wake after setting it */
};

/* `settings` must outlive it. Free it with client_close. */
struct client *client_open(const struct client_settings *settings);

/* How long each batond may take to answer from now on. */
void client_set_timeout(struct client *client, int64_t ms);

/* Lets requests and pauses call `idle` about once a second. */
void client_on_idle(struct client *client, void (*idle)(void *context), void *context);

/* Ends requests and pauses when the descriptor is readable; -1: no longer. */
void client_interrupt_by(struct client *client, int descriptor);

/* Whether that has ended one. */
bool client_is_interrupted(const struct client *client);

/* Waits `ms`, or until client_wake. */
void client_pause(struct client *client, int64_t ms);

/* Makes client_pause return, and a request check whether it is cancelled. Any thread. */
void client_wake(struct client *client);

void client_close(struct client *client);

/* Returns "/locks/NAME" and what follows, with the name percent-encoded. */
char *client_path(const char *name, const char *rest);

/* Returns the path with the fields in its query (NULL-terminated: name, value, ...) and their
 * values encoded. Leaves out a field whose value is NULL. */
char *client_query(const char *path, const char *const *fields);

/* Sends the request and waits for the reply. Goes on to the next URL if no batond answers, or if a
 * batond or a proxy answers that it cannot serve now (STATUS_UNANSWERED). */
struct reply client_send(struct client *client, const struct request *request);

#endif
