/* transport.h: the transport to the primary that Redis Sentinel names. */
#ifndef BATON_REDIS_SENTINEL_TRANSPORT_H
#define BATON_REDIS_SENTINEL_TRANSPORT_H

#include "redis/types/transport.h"

/* For redis+sentinel://. */
extern const struct transport sentinel_transport;

#endif
