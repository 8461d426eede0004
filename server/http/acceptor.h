/* acceptor.h: accepts clients on a worker's listening socket and gives each to a daemon. */
#ifndef BATON_SERVER_HTTP_ACCEPTOR_H
#define BATON_SERVER_HTTP_ACCEPTOR_H

#include "server/http/daemon_pool.h"
#include "server/log/log.h"
#include "server/net/connection_limits.h"

/* Use it on the worker's thread alone. */
struct acceptor;

struct acceptor_options {
    uv_loop_t *loop;
    int listen_fd; /* taken over */
    struct connection_limits *limits;
    struct clients *clients;
    struct lingering_closes *lingering;
    struct daemon_pool *pool;
    struct metrics *metrics;
    const struct log *log;
    /* The whole reply for a client whose address has too many connections open. */
    const char *too_many;
    const char *when_full; /* for the log */
};

struct acceptor *acceptor_new(const struct acceptor_options *options);

/* Accepts clients from now on; until then they wait in the kernel. Does nothing if already open. */
void acceptor_open(struct acceptor *acceptor);

/* Accepts the clients that the kernel has already accepted for us, since closing the socket would
 * reset them, then closes it. Calls `closed` from the loop, after freeing the record. */
void acceptor_close(struct acceptor *acceptor, void (*closed)(void *context), void *context);

#endif
