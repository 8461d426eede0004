/* cluster_inbox.h: one inbox for a whole Redis Cluster, at whichever of its nodes is up. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_INBOX_H
#define BATON_REDIS_CLUSTER_CLUSTER_INBOX_H

#include "redis/cluster/cluster_shards.h"

/* A plain message reaches every node, so one inbox is enough, at any of them; it goes to another
 * one when that is lost, or serves nothing any more. */
struct cluster_inbox_options {
    uv_loop_t *loop;
    const struct redis_url *url; /* outlives it, as do those that follow */
    struct cluster *cluster;
    const struct cluster_shards *shards;
    const struct store_events *events; /* of whom `listening`, `message` and `warning` are told */
};

/* For its owner to keep in one place, and for the functions below to read and write. Used on its
 * loop's thread alone. */
struct cluster_inbox {
    struct cluster_inbox_options options;
    struct inbox *inbox; /* NULL: nobody listens */
    struct guide guide;  /* to `node` */
    unsigned node;
    uint64_t turned; /* when it went there; loop time */
    bool loss_is_told;
};

void cluster_inbox_init(struct cluster_inbox *inbox, const struct cluster_inbox_options *options);

/* As store_listen. */
int cluster_inbox_listen(struct cluster_inbox *inbox, struct slice channel);

/* A node is up that was not. */
void cluster_inbox_note_up(struct cluster_inbox *inbox);

/* Who serves what may be news. */
void cluster_inbox_note_map(struct cluster_inbox *inbox);

/* Returns false where nobody listens: then `closed` is not called. */
bool cluster_inbox_close(struct cluster_inbox *inbox, void (*closed)(void *context), void *context);

#endif
