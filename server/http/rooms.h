/* rooms.h: the daemons of libmicrohttpd among which a worker's connections are divided, without a
 * thread of their own: driven from the worker's loop. */
#ifndef BATON_SERVER_ROOMS_H
#define BATON_SERVER_ROOMS_H

#include "server/http/callers.h"
#include "server/http/request.h"

#include <sys/socket.h>
#include <uv.h>

/* To find those that were resumed, the library goes through all its suspended connections: with
 * 15,000 of them in one daemon each request would cost more than a millisecond. So a room is one
 * daemon with some of the connections, and there are as many as it takes. */
struct rooms;
struct room;

/* How many connections so many workers can serve together, with so many descriptors. */
unsigned rooms_connections_most(unsigned descriptors, unsigned workers);

/* `turned` is called in every turn of the loop once the daemons have run. With `https` (NULL: plain
 * HTTP) the rooms take a reference of their own. */
struct rooms *rooms_open(uv_loop_t *loop, struct desk *desk, struct https *https,
                         void (*turned)(void *context), void *context);

/* Rooms that speak TLS show this to connections that are taken from now on; what is under way goes
 * on as it began. */
void rooms_set_https(struct rooms *rooms, struct https *https);

/* The daemons run from now on; does nothing where they do. */
void rooms_start(struct rooms *rooms);

/* A room that has a place, made if need be; NULL where there cannot be one. */
struct room *rooms_with_a_place(struct rooms *rooms);

/* Takes the caller and its connection over; it is closed where it cannot be begun with. */
void room_take(struct room *room, struct caller *caller, const struct sockaddr_storage *address,
               socklen_t length);

/* The loop does not sleep before its next turn is done. */
void rooms_wake(struct rooms *rooms);

/* Stops the daemons, of which none may have a suspended connection, and calls `closed` from the
 * loop, by which time the record is freed. */
void rooms_close(struct rooms *rooms, void (*closed)(void *context), void *context);

#endif
