/* daemon_pool.h: the daemons of libmicrohttpd among which a worker's connections are divided,
 * without a thread of their own: driven from the worker's loop. */
#ifndef BATON_SERVER_HTTP_DAEMON_POOL_H
#define BATON_SERVER_HTTP_DAEMON_POOL_H

#include "server/http/clients.h"
#include "server/http/request.h"

#include <sys/socket.h>
#include <uv.h>

/* To find those that were resumed, the library goes through all its suspended connections: with
 * 15,000 of them in one daemon each request would cost more than a millisecond. So each daemon has
 * some of the connections, and there are as many as it takes. */
struct daemon_pool;
struct pooled_daemon;

/* How many connections the workers can serve together, with so many descriptors for all that has to
 * do with connections. */
unsigned daemon_pool_connections_most(unsigned descriptors, unsigned workers);

/* `turned` is called in every turn of the loop once the daemons have run. With `https` (NULL: plain
 * HTTP) the daemons take a reference of their own. */
struct daemon_pool *daemon_pool_open(uv_loop_t *loop, struct request_context *shared,
                                     struct https *https, void (*turned)(void *context),
                                     void *context);

/* Daemons that speak TLS show this to connections that are taken from now on; what is under way
 * goes on as it began. */
void daemon_pool_set_https(struct daemon_pool *pool, struct https *https);

/* The daemons run from now on; does nothing where they do. */
void daemon_pool_start(struct daemon_pool *pool);

/* A daemon that has a place, made if need be; NULL where there cannot be one. */
struct pooled_daemon *daemon_pool_available(struct daemon_pool *pool);

/* Takes the client and its connection over; it is closed where it cannot be begun with. */
void pooled_daemon_take(struct pooled_daemon *pooled, struct client *client,
                        const struct sockaddr_storage *address, socklen_t length);

/* The loop does not sleep before its next turn is done. */
void daemon_pool_wake(struct daemon_pool *pool);

/* Stops the daemons, of which none may have a suspended connection, and calls `closed` from the
 * loop, by which time the record is freed. */
void daemon_pool_close(struct daemon_pool *pool, void (*closed)(void *context), void *context);

#endif
