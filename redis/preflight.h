/* preflight.h: the engines' own ways of store_preflight. Internal to redis/. */
#ifndef BATON_REDIS_PREFLIGHT_H
#define BATON_REDIS_PREFLIGHT_H

#include "redis/address/url.h"

/* As store_preflight, of a URL of the kind REDIS_CLUSTER. */
int preflight_cluster(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
