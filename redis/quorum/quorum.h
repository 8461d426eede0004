/* quorum.h: the transport to several independent primaries, each of which is a shard. */
#ifndef BATON_REDIS_QUORUM_QUORUM_H
#define BATON_REDIS_QUORUM_QUORUM_H

#include "redis/types/transport.h"

/* For redis+quorum://. locks/quorum combines the answers of the members. Here each member has a
 * connection, an inbox, and as its number its position in the URL. */
extern const struct transport quorum_transport;

#endif
