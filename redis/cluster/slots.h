/* slots.h: computes the slot of a key in a Redis Cluster, and parses what nodes answer: CLUSTER
 * SLOTS, and redirects. */
#ifndef BATON_REDIS_CLUSTER_SLOTS_H
#define BATON_REDIS_CLUSTER_SLOTS_H

#include "redis/types/value.h"

#include <stdbool.h>

enum {
    SLOT_COUNT = 16384,
    SLOT_TAG_SIZE = 8,
    SLOT_NODE_ID_LONGEST = 64, /* Redis writes 40 characters */
};

/* The slot of the text in the first braces of the key. Without such text, the slot of the whole
 * key. */
unsigned slot_of(struct slice key);

/* Writes a text whose slot is `slot`: the node that serves the slot serves a key with this text
 * in braces. Takes some ten microseconds to a few milliseconds. */
void slot_tag(unsigned slot, char text[SLOT_TAG_SIZE]);

/* A node as another node names it. */
struct slot_node {
    struct slice id;   /* absent if the answer has no id */
    struct slice host; /* absent: the host of the node that answered */
    int port;
};

/* Reads the reply to CLUSTER SLOTS: calls `range` for each range of slots with the primary that
 * serves it. Returns false, without any call, if the reply has another shape. */
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

/* Returns false if the text is another error. */
bool redirect_read(const char *error, struct redirect *ret);

#endif
