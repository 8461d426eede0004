/* cluster_store.h: the transport to a Redis Cluster, whose nodes are the shards. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_STORE_H
#define BATON_REDIS_CLUSTER_CLUSTER_STORE_H

#include "redis/types/transport.h"

/* For redis+cluster://. redis/cluster/cluster.h finds out which node serves what, and
 * redis/cluster/router.h where a call goes. redis/cluster/cluster_shards.h has the
 * connections of each node, and redis/cluster/cluster_inbox.h the one inbox of all nodes. */
extern const struct transport cluster_transport;

#endif
