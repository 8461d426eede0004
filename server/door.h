/* door.h: the listening socket of a worker, where callers are accepted and shown to a room. */
#ifndef BATON_SERVER_DOOR_H
#define BATON_SERVER_DOOR_H

#include "server/rooms.h"

/* Used on the worker's thread alone. */
struct door;

/* Takes the descriptor over. Lets in at most so many connections at a time. */
struct door *door_new(uv_loop_t *loop, int listen_fd, struct rooms *rooms,
                      unsigned connections_most);

/* Callers are let in from now on; until then the kernel keeps them. Does nothing where they are. */
void door_open(struct door *door);

/* Lets in those whom the kernel has accepted for us already, since closing the socket would reset
 * them, and closes it. Calls `closed` from the loop, by which time the record is freed. */
void door_close(struct door *door, void (*closed)(void *context), void *context);

#endif
