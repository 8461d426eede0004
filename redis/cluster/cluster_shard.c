#include "redis/cluster/cluster_shard.h"

#include "base/memory.h"

#include <stdio.h>

enum { KEY_SIZE = sizeof((struct failure *)0)->text };

struct cluster_shard {
    const struct cluster *cluster;
    struct node_options options;
    struct node *node;
    struct inbox *key_inbox; /* for changed keys; NULL: no caller has asked for them */
    bool tracks;
    bool is_marked;
    unsigned marked_slot;
    int open; /* how many of node and key_inbox are open */
    void (*closed)(void *context);
    void *closed_context;
};

/* The inbox for changed keys */

static void key_inbox_on_listening(void *context)
{
    struct cluster_shard *shard = context;
    node_heard_by(shard->node, shard->key_inbox);
}

static void key_inbox_on_message(void *context, struct slice text)
{
    (void)context, (void)text; /* this inbox subscribes to no channel */
}

static void key_inbox_on_touched(void *context, struct slice key)
{
    const struct cluster_shard *shard = context;
    shard->options.events.touched(shard->options.events.context, key);
}

static void key_inbox_on_lost(void *context, const char *reason)
{
    (void)context, (void)reason; /* the tracking knows that it may miss changes */
}

static void open_key_inbox(struct cluster_shard *shard)
{
    const struct inbox_events events = {
        .context = shard,
        .listening = key_inbox_on_listening,
        .message = key_inbox_on_message,
        .touched = key_inbox_on_touched,
        .lost = key_inbox_on_lost,
    };
    const struct node_options *options = &shard->options;
    if (!shard->key_inbox && inbox_open(&shard->key_inbox, options->loop, options->url,
                                        options->endpoint, (struct slice){NULL, 0}, &events) == 0)
        shard->open++;
}

void cluster_shard_track(struct cluster_shard *shard, struct slice prefix)
{
    open_key_inbox(shard);
    shard->tracks = true;
    node_track(shard->node, prefix);
}

void cluster_shard_untrack(struct cluster_shard *shard)
{
    if (shard->tracks)
        node_untrack(shard->node);
    shard->tracks = false;
}

bool cluster_shard_tracks(const struct cluster_shard *shard)
{
    return shard->tracks;
}

/* The marker */

void cluster_shard_mark(struct cluster_shard *shard, const char *marker, int replicas)
{
    char tag[SLOT_TAG_SIZE], key[KEY_SIZE];
    unsigned before = shard->is_marked ? shard->marked_slot : SLOT_COUNT - 1;
    unsigned slot = cluster_next_slot(shard->cluster, shard->options.number, before);
    if (slot == SLOT_COUNT)
        return;
    slot_tag(slot, tag);
    snprintf(key, sizeof key, "%s:{%s}", marker, tag);
    shard->is_marked = true;
    shard->marked_slot = slot;
    node_expect_replicas(shard->node, slice_of(key), replicas);
}

bool cluster_shard_is_marked(const struct cluster_shard *shard)
{
    return shard->is_marked &&
           cluster_owner(shard->cluster, shard->marked_slot) == shard->options.number;
}

struct node *cluster_shard_node(const struct cluster_shard *shard)
{
    return shard->node;
}

/* The beginning and the end */

int cluster_shard_open(struct cluster_shard **ret, const struct cluster *cluster,
                       const struct node_options *options)
{
    struct cluster_shard *shard = memory_checked(calloc(1, sizeof *shard));
    shard->cluster = cluster;
    shard->options = *options;
    shard->open = 1;
    int result = node_open(&shard->node, options, NULL);
    if (result < 0) {
        free(shard);
        return result;
    }
    *ret = shard;
    return 0;
}

static void cluster_shard_on_one_closed(void *context)
{
    struct cluster_shard *shard = context;
    if (--shard->open > 0)
        return;
    void (*closed)(void *context) = shard->closed;
    void *closed_context = shard->closed_context;
    free(shard);
    closed(closed_context);
}

void cluster_shard_close(struct cluster_shard *shard, void (*closed)(void *context), void *context)
{
    shard->closed = closed;
    shard->closed_context = context;
    if (shard->key_inbox)
        inbox_close(shard->key_inbox, cluster_shard_on_one_closed, shard);
    node_close(shard->node, cluster_shard_on_one_closed, shard);
}
