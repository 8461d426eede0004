/* known_peer.h: the Redis to which a node is connected now, and the one before. */
#ifndef BATON_REDIS_NODE_KNOWN_PEER_H
#define BATON_REDIS_NODE_KNOWN_PEER_H

#include "redis/types/peer.h"
#include "redis/wire/session.h"

/* Zeroed before the first connection. */
struct known_peer {
    struct store_peer peer; /* what it said of itself at the last connect */
    int64_t client_id;      /* the id that it gives this connection; 0 if it does not say */
    char place[300];        /* as session_place */
    uint64_t connects;      /* so far */
    uint64_t switches;      /* of these, to another server than before */
};

/* Notes a new connection. Returns the id of the previous connection if the same run of Redis served
 * it, else 0. The previous connection is gone here, but may still live at Redis. */
int64_t known_peer_note(struct known_peer *known, const struct session_peer *peer,
                        const char *place);

#endif
