/* door.h: the listening socket of a worker, where callers are accepted and shown to a room. */
#ifndef BATON_SERVER_DOOR_H
#define BATON_SERVER_DOOR_H

#include "server/http/rooms.h"
#include "server/log/log.h"
#include "server/net/addresses.h"

/* Used on the worker's thread alone. */
struct door;

struct door_options {
    uv_loop_t *loop;
    int listen_fd; /* taken over */
    struct addresses *addresses;
    struct callers *callers;
    struct farewells *farewells;
    struct rooms *rooms;
    struct metrics *metrics;
    const struct log *log;
    /* A whole reply for one from whose address there are as many connections as may be. */
    const char *too_many;
    const char *when_full; /* for the log */
};

struct door *door_new(const struct door_options *options);

/* Callers are let in from now on; until then the kernel keeps them. Does nothing where they are. */
void door_open(struct door *door);

/* Lets in those whom the kernel has accepted for us already, since closing the socket would reset
 * them, and closes it. Calls `closed` from the loop, by which time the record is freed. */
void door_close(struct door *door, void (*closed)(void *context), void *context);

#endif
