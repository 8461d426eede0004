/* peer.h: what a Redis server says of itself, and how often batond asked it. */
#ifndef BATON_REDIS_TYPES_PEER_H
#define BATON_REDIS_TYPES_PEER_H

#include <stdint.h>

/* What the server of a shard said of itself when batond connected to it. */
struct store_peer {
    char run_id[48];         /* of this run of it; "" where it does not say, as below */
    char history[48];        /* of its data, as replicas follow it (master_replid) */
    char history_before[48]; /* what it followed itself before it was promoted; zeros: nothing */
    int64_t up_s;            /* for how long it had been running */
    int replicas;            /* that followed it */
};

struct store_figures {
    uint64_t calls;    /* scripts sent to Redis, those of store_eval_first left out */
    uint64_t connects; /* connections that became usable */
    uint64_t switches; /* those of them to another server than the one before */
};

#endif
