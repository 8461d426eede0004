/* link_server.h: which Redis a link is connected to, and which it was connected to before. */
#ifndef BATON_REDIS_WIRE_LINK_SERVER_H
#define BATON_REDIS_WIRE_LINK_SERVER_H

#include "redis/types/peer.h"
#include "redis/wire/session.h"

/* Zeroed before the first connection. */
struct link_server {
    struct store_peer peer; /* as it said of itself when it was connected to */
    int64_t client_id;      /* what it calls that connection; 0 where it does not say */
    char place[300];        /* as of session_place */
    uint64_t connects;      /* so far */
    uint64_t switches;      /* those of them to another server than the one before */
};

/* There is a new connection. Returns what the same run of Redis calls the one before it, or 0 where
 * nobody can tell: that is gone here, but may live on there. */
int64_t link_server_note(struct link_server *server, const struct session_peer *peer,
                         const char *place);

#endif
