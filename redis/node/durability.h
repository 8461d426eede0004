/* durability.h: how Redis should be set up if replicas confirm grants. */
#ifndef BATON_REDIS_NODE_DURABILITY_H
#define BATON_REDIS_NODE_DURABILITY_H

#include "redis/wire/server_info.h"

/* Calls `report` once for each setting that makes confirmed grants impossible, or less safe. */
void durability_warn(const struct server_info *info, int replicas,
                     void (*report)(void *context, const char *text), void *context);

#endif
