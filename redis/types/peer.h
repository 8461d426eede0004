/* peer.h: what a Redis server says of itself, and how often batond has called it and connected to
 * it. */
#ifndef BATON_REDIS_TYPES_PEER_H
#define BATON_REDIS_TYPES_PEER_H

#include <stdint.h>

/* What the server of a shard said of itself when batond connected to it. */
struct store_peer {
    char run_id[48];  /* identifies this run of the server; "" if it does not say, as below */
    char history[48]; /* replication id of its data (master_replid) */
    char history_before[48]; /* the id that it followed before it was promoted; zeros: none */
    int64_t up_s;            /* how long it had been running, in seconds */
    int replicas;            /* how many followed it */
};

struct store_figures {
    uint64_t calls;    /* scripts sent to Redis, without those of store_eval_first */
    uint64_t connects; /* connections that became usable */
    uint64_t switches; /* of these, to another server than before */
};

#endif
