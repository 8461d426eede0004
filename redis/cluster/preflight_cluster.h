/* preflight_cluster.h: checks, before batond starts, that a Redis Cluster answers and that its
 * nodes serve all slots. */
#ifndef BATON_REDIS_CLUSTER_PREFLIGHT_CLUSTER_H
#define BATON_REDIS_CLUSTER_PREFLIGHT_CLUSTER_H

struct failure;
struct redis_url;

/* As store_preflight. `url` is of the kind REDIS_CLUSTER. */
int preflight_cluster(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
