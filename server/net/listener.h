/* listener.h: the sockets that workers accept on: one each on the same port (SO_REUSEPORT), or all
 * the same one, opened by systemd. */
#ifndef BATON_SERVER_NET_LISTENER_H
#define BATON_SERVER_NET_LISTENER_H

#include "base/failure.h"

#include <stdbool.h>
#include <sys/socket.h>

/* An address to serve on. */
struct listener {
    struct sockaddr_storage address; /* its port may be 0 after listener_read only */
    socklen_t length;
    const char *setting; /* name of the setting, for failures */
    bool loopback;       /* other machines cannot reach it */
    int shared;          /* a socket from systemd, for all workers; -1: each opens its own */
    int reserves;        /* for port 0: keeps the found port until the process ends; or -1 */
    char endpoint[72];   /* ADDRESS:PORT */
};

/* Reads "ADDRESS:PORT" as listener_init does, but opens nothing. Returns 0, or -EINVAL with a
 * failure that names `setting`, which must last as long as the listener. */
int listener_read(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure);

/* Reads "ADDRESS:PORT" or "[ADDRESS]:PORT" (a numeric address, or localhost), finds a free port for
 * port 0, and makes sure that no other process serves there: SO_REUSEPORT alone would share the
 * port with it. Returns 0 or a negative errno with a failure. */
int listener_init(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure);

/* The same for a socket that already listens; it stays open. Returns 0, or -EINVAL with a failure
 * if it is not a listening TCP socket. */
int listener_adopt(struct listener *ret, int fd, struct failure *failure);

/* Opens one more descriptor to accept on. Returns it or a negative errno with a failure. */
int listener_socket(const struct listener *listener, struct failure *failure);

#endif
