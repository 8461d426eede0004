/* daemon_pool.h: divides a worker's connections among libmicrohttpd daemons, which have no threads
 * and run in the worker's loop. */
#ifndef BATON_SERVER_HTTP_DAEMON_POOL_H
#define BATON_SERVER_HTTP_DAEMON_POOL_H

#include "server/http/clients.h"
#include "server/http/request.h"

#include <sys/socket.h>
#include <uv.h>

/* To find resumed connections, the library goes through all suspended ones of a daemon: with 15,000
 * in one daemon, each request would cost more than a millisecond. So each daemon has a few
 * connections, and more daemons start as needed. */
struct daemon_pool;
struct pooled_daemon;

/* How many connections all workers can serve with this many descriptors for connections. */
unsigned daemon_pool_connections_most(unsigned descriptors, unsigned workers);

/* Calls `turned` in every turn of the loop, after the daemons have run. Takes its own reference to
 * `https`; NULL: plain HTTP. */
struct daemon_pool *daemon_pool_open(uv_loop_t *loop, struct request_context *shared,
                                     struct https *https, void (*turned)(void *context),
                                     void *context);

/* For new connections. Open ones keep what they began with. */
void daemon_pool_set_https(struct daemon_pool *pool, struct https *https);

/* Runs the daemons from now on. Does nothing if they run already. */
void daemon_pool_start(struct daemon_pool *pool);

/* A daemon with a free slot, started if necessary; NULL if none can start. */
struct pooled_daemon *daemon_pool_available(struct daemon_pool *pool);

/* Takes over the client and its socket, and closes the socket if the daemon cannot begin with
 * it. */
void pooled_daemon_take(struct pooled_daemon *pooled, struct client *client,
                        const struct sockaddr_storage *address, socklen_t length);

/* Makes the loop turn once more before it sleeps. */
void daemon_pool_wake(struct daemon_pool *pool);

/* Stops the daemons, which must have no suspended connection. Calls `closed` from the loop, after
 * freeing the record. */
void daemon_pool_close(struct daemon_pool *pool, void (*closed)(void *context), void *context);

#endif
