/* guard_options.h: what the guard is told when it is opened. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_GUARD_OPTIONS_H
#define BATON_LOCKS_QUARANTINE_GUARD_OPTIONS_H

#include "base/slice.h"
#include "locks/types/quarantine.h"

#include <uv.h>

struct guard_options {
    uv_loop_t *loop;
    struct slice key_prefix; /* outlives the guard */
    const char *process;     /* PROCESS_LENGTH characters by which other processes know this one */
    int64_t retention_ms;    /* how long a free name is remembered */
    int64_t quarantine_ms;   /* how long a quarantine is, or QUARANTINE_AUTO, _OFF */
    int64_t replicas;        /* that confirm each grant, at least */
    bool keeps_all;          /* Redis keeps on disk all that it ever answered */
    /* The shards are the members of a quorum: each has every hold, and numbers grow by the clocks
     * of all. Else each name is of one shard. */
    bool members_share_holds;
    /* The shard was looked at and may be used. */
    void (*serve)(void *context, unsigned shard);
    /* The shard has other data than before: names may be gone. */
    void (*replaced)(void *context, unsigned shard);
    void *context; /* of these two */
    /* As in struct locks_options; each may be NULL. */
    void (*quarantined)(void *context, const struct quarantine *quarantine);
    void (*warning)(void *context, const char *text);
    void *observer; /* of these two */
};

#endif
