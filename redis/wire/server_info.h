/* server_info.h: what a Redis says of itself in INFO, and whether Baton can rely on it. */
#ifndef BATON_REDIS_WIRE_SERVER_INFO_H
#define BATON_REDIS_WIRE_SERVER_INFO_H

#include "base/failure.h"
#include "base/slice.h"
#include "redis/types/peer.h"

#include <stdbool.h>

struct server_info {
    char version[32]; /* as Redis writes it; "" if it does not say */
    int major;
    int minor;
    bool loading;   /* it is reading its data and serves no client yet */
    bool sentinel;  /* it watches other servers and keeps no data */
    bool clustered; /* it is a node of a Redis Cluster */
    bool replica;
    bool replica_writable;
    struct store_peer peer;
    char eviction[32];   /* maxmemory_policy; "" if it does not say */
    bool needs_replicas; /* it takes writes only if enough of them follow (min-replicas-to-write) */
    bool has_no_file;    /* it says that it keeps no append-only file */
};

/* Reads the text of INFO. A missing field stays empty. */
void server_info_read(struct slice info, struct server_info *ret);

/* Returns 0 if Redis is usable; -EAGAIN if it will be by itself (it is loading, or a replica that
 * may be promoted); -EPROTO if a person has to act (the version is too old). */
int server_info_check(const struct server_info *info, struct failure *failure);

/* Fills `warning` and returns true if this Redis may lose locks. */
bool server_info_warn(const struct server_info *info, struct failure *warning);

#endif
