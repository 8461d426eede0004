/* listener.h: the sockets that workers accept on: one each, all on one port (SO_REUSEPORT). */
#ifndef BATON_SERVER_LISTENER_H
#define BATON_SERVER_LISTENER_H

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* An address that is ours to serve on. */
struct listener {
    struct sockaddr_storage address; /* its port is not 0, but by listener_read */
    socklen_t length;
    bool loopback;  /* no other machine can reach it */
    char place[72]; /* ADDRESS:PORT */
};

/* Reads "ADDRESS:PORT" as listener_init does, and opens nothing: the port may still be 0. Returns 0
 * or -EINVAL with a failure. */
int listener_read(struct listener *ret, const char *text, struct failure *failure);

/* Reads "ADDRESS:PORT" or "[ADDRESS]:PORT" (a numeric address, or localhost), finds a free port for
 * port 0, and makes sure that no other process serves there: SO_REUSEPORT alone would share the
 * port with it. Returns 0 or a negative errno with a failure. */
int listener_init(struct listener *ret, const char *text, struct failure *failure);

/* Opens one more listening socket there. Returns the descriptor or a negative errno. */
int listener_socket(const struct listener *listener, struct failure *failure);

#endif
