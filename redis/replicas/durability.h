/* durability.h: what a Redis should be set to where grants are confirmed by replicas. */
#ifndef BATON_REDIS_REPLICAS_DURABILITY_H
#define BATON_REDIS_REPLICAS_DURABILITY_H

#include "redis/wire/server_info.h"

/* Tells, a line each, what of it makes confirmed grants impossible, or worth less. */
void durability_warn(const struct server_info *info, int replicas,
                     void (*tell)(void *context, const char *text), void *context);

#endif
