/* preflight_cluster.h: hears from a Redis Cluster once, before anything starts. */
#ifndef BATON_REDIS_CLUSTER_PREFLIGHT_CLUSTER_H
#define BATON_REDIS_CLUSTER_PREFLIGHT_CLUSTER_H

struct failure;
struct redis_url;

/* As store_preflight, of a URL of the kind REDIS_CLUSTER. */
int preflight_cluster(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
