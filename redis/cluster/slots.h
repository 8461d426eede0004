/* slots.h: which slot of a Redis Cluster a key is in, and what the nodes say of who serves it. */
#ifndef BATON_REDIS_CLUSTER_SLOTS_H
#define BATON_REDIS_CLUSTER_SLOTS_H

#include "redis/types/value.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SLOT_COUNT = 16384,
    SLOT_TAG_SIZE = 8,
    SLOT_NODE_ID_LONGEST = 64, /* 40 as Redis writes it */
};

/* The slot of a key: that of what stands in its first braces, or where nothing does, of it all. */
unsigned slot_of(struct slice key);

/* Writes a text whose slot is this one: a key with it in braces is served by whoever serves the
 * slot. Takes some ten microseconds to a few milliseconds. */
void slot_tag(unsigned slot, char text[SLOT_TAG_SIZE]);

/* A node as others call it. */
struct slot_node {
    struct slice id;   /* absent where it is not told */
    struct slice host; /* absent: that of whoever answered */
    int port;
};

/* Reads the reply to CLUSTER SLOTS: tells of each range of slots, and of the primary that serves
 * it. False, and nothing is told, where the reply is of another shape. */
bool slots_read(const struct value *reply,
                void (*range)(void *context, unsigned first, unsigned last,
                              const struct slot_node *primary),
                void *context);

/* `MOVED slot host:port`, or `ASK …`. */
struct redirect {
    bool ask;
    unsigned slot;
    struct slot_node to; /* points into the text */
};

/* False where the text is no such error. */
bool redirect_read(const char *error, struct redirect *ret);

#endif
