/* cluster_inbox.h: one inbox for a whole Redis Cluster, at whichever of its nodes is up. */
#ifndef BATON_REDIS_CLUSTER_CLUSTER_INBOX_H
#define BATON_REDIS_CLUSTER_CLUSTER_INBOX_H

#include "redis/cluster/node_table.h"
#include "redis/node/inbox.h"
#include "redis/node/shards.h"

/* A published message reaches every node, so one inbox at any node is enough. It goes to another
 * node if its node is lost, or serves nothing any more. It calls `listening`, `message` and
 * `warning` of the owner of the store.
 *
 * The owner keeps it in one place; only the functions below read and write it. Used on its loop's
 * thread alone. */
struct cluster_inbox {
    struct shards *shards;
    const struct slot_map *map;
    struct node_table *table;
    struct inbox *inbox;      /* NULL before cluster_inbox_listen */
    struct endpoint endpoint; /* to `node` */
    unsigned node;
    uint64_t moved_at; /* when the inbox went to `node`; on the loop's clock, in ms */
    bool loss_is_reported;
};

/* All of these outlive the inbox. */
void cluster_inbox_init(struct cluster_inbox *inbox, const struct slot_map *map,
                        struct node_table *table, struct shards *shards);

/* See store_listen. */
void cluster_inbox_listen(struct cluster_inbox *inbox, struct slice channel);

/* A node has come up. */
void cluster_inbox_note_up(struct cluster_inbox *inbox);

/* The map may have changed. */
void cluster_inbox_note_map(struct cluster_inbox *inbox);

/* Returns false if the inbox was not listening: then it does not call `closed`. */
bool cluster_inbox_close(struct cluster_inbox *inbox, void (*closed)(void *context), void *context);

#endif
