/* quorum.h: the transport to several independent primaries, each of which is a shard. */
#ifndef BATON_REDIS_QUORUM_QUORUM_H
#define BATON_REDIS_QUORUM_QUORUM_H

#include "redis/types/transport.h"

/* For redis+quorum://. locks/quorum puts together what the members answer. Here each member has its
 * connection, its inbox and its number, which is its position in the URL. */
extern const struct transport quorum_transport;

#endif
