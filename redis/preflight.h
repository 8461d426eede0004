/* preflight.h: opens the nodes of a URL once and checks them, before anything starts. */
#ifndef BATON_REDIS_PREFLIGHT_H
#define BATON_REDIS_PREFLIGHT_H

#include "redis/kind.h"

/* As store_preflight, for a URL of this kind. */
int preflight_run(const struct kind *kind, const struct redis_url *url, int timeout_ms,
                  struct failure *failure);

#endif
