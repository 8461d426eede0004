/* listener.h: the sockets that workers accept on: one each, all on one port (SO_REUSEPORT), or all
 * the one that systemd has opened. */
#ifndef BATON_SERVER_NET_LISTENER_H
#define BATON_SERVER_NET_LISTENER_H

#include "base/failure.h"

#include <stdbool.h>
#include <sys/socket.h>

/* An address that is ours to serve on. */
struct listener {
    struct sockaddr_storage address; /* its port is not 0, but by listener_read */
    socklen_t length;
    const char *setting; /* the name of the one that says where */
    bool loopback;       /* no other machine can reach it */
    int shared; /* the socket that all accept on, as it was passed to us; -1: each has its own */
    char endpoint[72]; /* ADDRESS:PORT */
};

/* Reads "ADDRESS:PORT" as listener_init does, and opens nothing: the port may still be 0. Returns 0
 * or -EINVAL with a failure, which names `setting`; that has to last as long as the listener. */
int listener_read(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure);

/* Reads "ADDRESS:PORT" or "[ADDRESS]:PORT" (a numeric address, or localhost), finds a free port for
 * port 0, and makes sure that no other process serves there: SO_REUSEPORT alone would share the
 * port with it. Returns 0 or a negative errno with a failure. */
int listener_init(struct listener *ret, const char *setting, const char *text,
                  struct failure *failure);

/* The same for a socket that is listening already, and stays open. Returns 0, or -EINVAL with a
 * failure where it is not one to serve HTTP on. */
int listener_adopt(struct listener *ret, int fd, struct failure *failure);

/* One more descriptor to accept on. Returns it or a negative errno. */
int listener_socket(const struct listener *listener, struct failure *failure);

#endif
