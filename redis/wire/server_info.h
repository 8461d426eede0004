/* server_info.h: what a Redis says of itself in INFO, and whether Baton can rely on it. */
#ifndef BATON_REDIS_WIRE_SERVER_INFO_H
#define BATON_REDIS_WIRE_SERVER_INFO_H

#include "base/failure.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct server_info {
    char version[32]; /* as Redis writes it; "" where it does not say */
    int major;
    int minor;
    bool loading;   /* it reads its data and serves nobody yet */
    bool sentinel;  /* it watches others, and keeps nothing itself */
    bool clustered; /* it is a node of a Redis Cluster */
    bool replica;
    bool replica_writable;
    char run_id[48];         /* of this run of the server; "" where it does not say */
    char history[48];        /* what its replicas follow (master_replid); the same */
    char history_before[48]; /* what it followed itself before it was promoted; zeros: nothing */
    int64_t up_s;            /* for how long it has been running */
    char eviction[32];       /* maxmemory_policy; "" where it does not say */
    int replicas;            /* that follow it now */
    bool needs_replicas; /* it takes writes only where some of them do (min-replicas-to-write) */
    bool has_no_file;    /* it says that it keeps no append-only file */
};

/* Reads the text that INFO answers; what is missing stays empty. */
void server_info_read(struct slice info, struct server_info *ret);

/* Returns 0 where Redis can be used; -EAGAIN where it will be by itself (loading, a replica that
 * may be promoted); -EPROTO where somebody has to act (a version below 6.2). */
int server_info_check(const struct server_info *info, struct failure *failure);

/* Fills `warning` and returns true where locks may be lost. */
bool server_info_warn(const struct server_info *info, struct failure *warning);

#endif
