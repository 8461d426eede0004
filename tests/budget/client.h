/* client.h: a client in the same thread as its server, which it lets go on while it waits. */
#ifndef BATON_TESTS_BUDGET_CLIENT_H
#define BATON_TESTS_BUDGET_CLIENT_H

#include "tests/budget/host.h"

enum { CLIENT_ANSWER = 4096 };

struct client {
    struct host *host;
    int fd;
    size_t length;
    char answer[CLIENT_ANSWER]; /* what has come back, with a NUL behind it */
};

void client_connect(struct client *client, struct host *host);

/* Sends a request without a body; `token` may be NULL. */
void client_ask(struct client *client, const char *method, const char *target, const char *token);

/* Waits for the answer, and until the server has done all that there is to do. Anything but this
 * status ends the program. */
void client_take(struct client *client, int status);

/* Waits until the server has counted one more of these, likewise. */
void client_await(const struct client *client, enum lock_event_kind kind);

#endif
