/* acceptor.h: the listening socket of a worker, where clients are accepted and given to a daemon.
 */
#ifndef BATON_SERVER_HTTP_ACCEPTOR_H
#define BATON_SERVER_HTTP_ACCEPTOR_H

#include "server/http/daemon_pool.h"
#include "server/log/log.h"
#include "server/net/connection_limits.h"

/* Used on the worker's thread alone. */
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
    /* A whole reply for one from whose address there are as many connections as may be. */
    const char *too_many;
    const char *when_full; /* for the log */
};

struct acceptor *acceptor_new(const struct acceptor_options *options);

/* Clients are let in from now on; until then the kernel keeps them. Does nothing where they are. */
void acceptor_open(struct acceptor *acceptor);

/* Lets in those whom the kernel has accepted for us already, since closing the socket would reset
 * them, and closes it. Calls `closed` from the loop, by which time the record is freed. */
void acceptor_close(struct acceptor *acceptor, void (*closed)(void *context), void *context);

#endif
