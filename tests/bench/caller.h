/* caller.h: a client on a bare socket: one kept connection, one request at a time. */
#ifndef BATON_TESTS_BENCH_CALLER_H
#define BATON_TESTS_BENCH_CALLER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { CALLER_REPLY_MOST = 8192 }; /* bytes of a reply, headers included */

/* Pages of it that no reply has filled take no memory where it was made by calloc. */
struct caller {
    int fd;           /* non-blocking */
    int status;       /* of the latest reply */
    const char *body; /* of the latest reply, NUL-terminated, until the next request */
    size_t length;
    bool asking;
    bool redis; /* talks to Redis: to be set after caller_open; else HTTP */
    char reply[CALLER_REPLY_MOST + 1];
};

/* Reads "http://ADDRESS:PORT", IPv4 and in figures. Ends the program on anything else. */
struct sockaddr_in caller_address(const char *url);

/* Connects. To a loopback address it does so from one of many loopback addresses, since one has
 * not enough ports for all that a run and those before it need. Returns 0 or a negative errno. */
int caller_open(struct caller *caller, const struct sockaddr_in *server);

/* Takes one that was never opened only if its fd is -1. */
void caller_close(struct caller *caller);

/* Sends a request without a body. `token` may be NULL. Returns 0 or a negative errno. */
int caller_send(struct caller *caller, const char *method, const char *target, const char *token);

/* Sends a request that has been made. Returns 0 or a negative errno. */
int caller_send_made(struct caller *caller, const char *request, size_t length);

/* Reads what has come: 1 when the reply is complete, 0 while it is not, or a negative errno;
 * -ECONNRESET when the server has closed. */
int caller_take(struct caller *caller);

/* Sends, and waits up to 20 s for the reply. Returns its status or a negative errno. */
int caller_call(struct caller *caller, const char *method, const char *target, const char *token);

/* An integer of the latest reply's JSON, whose name nothing else in it has; -1 if there is none. */
int64_t caller_integer(const struct caller *caller, const char *member);

#endif
