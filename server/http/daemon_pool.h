/* daemon_pool.h: divides a worker's connections among libmicrohttpd daemons, which have no threads
 * and run in the worker's loop. */
#ifndef BATON_SERVER_HTTP_DAEMON_POOL_H
#define BATON_SERVER_HTTP_DAEMON_POOL_H

#include "server/http/clients.h"
#include "server/http/request.h"

#include <sys/socket.h>
#include <uv.h>

/* To find resumed connections, the library goes through all the suspended ones of a daemon: with
 * 15,000 in one daemon, each request would cost more than a millisecond. So each daemon has a few
 * connections, and more daemons are started as needed. */
struct daemon_pool;
struct pooled_daemon;

/* How many connections the workers can serve together, with so many descriptors for connections. */
unsigned daemon_pool_connections_most(unsigned descriptors, unsigned workers);

/* Calls `turned` in every turn of the loop, after the daemons have run. Takes a reference of its
 * own to `https`; NULL: plain HTTP. */
struct daemon_pool *daemon_pool_open(uv_loop_t *loop, struct request_context *shared,
                                     struct https *https, void (*turned)(void *context),
                                     void *context);

/* For connections from now on. Those that are open go on with what they began with. */
void daemon_pool_set_https(struct daemon_pool *pool, struct https *https);

/* The daemons run from now on. Does nothing if they do already. */
void daemon_pool_start(struct daemon_pool *pool);

/* A daemon with a free slot, started if need be; NULL if none can start. */
struct pooled_daemon *daemon_pool_available(struct daemon_pool *pool);

/* Takes over the client and its socket, and closes it if the daemon cannot begin with it. */
void pooled_daemon_take(struct pooled_daemon *pooled, struct client *client,
                        const struct sockaddr_storage *address, socklen_t length);

/* The loop makes another turn before it sleeps. */
void daemon_pool_wake(struct daemon_pool *pool);

/* Stops the daemons; they must not have a suspended connection. Calls `closed` from the loop; the
 * record is freed by then. */
void daemon_pool_close(struct daemon_pool *pool, void (*closed)(void *context), void *context);

#endif
