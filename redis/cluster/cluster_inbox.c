#include "redis/cluster/cluster_inbox.h"

enum { STAYS_MS = 500 }; /* the inbox stays at a node for this long, whatever fails there */

static bool cluster_inbox_may_use(const struct cluster_inbox *inbox, unsigned node)
{
    return shards_is_up(inbox->shards, node) && slot_map_count(inbox->map, node) > 0;
}

/* To the next node that serves slots and is up. It goes round, so it may end at the same node. */
static void cluster_inbox_move(struct cluster_inbox *inbox)
{
    unsigned count = inbox->shards->count, step = 1;
    while (step <= count && !cluster_inbox_may_use(inbox, (inbox->node + step) % count))
        step++;
    if (step > count)
        return;
    inbox->node = (inbox->node + step) % count;
    const struct endpoint *endpoint = node_table_endpoint(inbox->table, inbox->node);
    inbox->moved_at = uv_now(inbox->shards->loop);
    endpoint_set(&inbox->endpoint, endpoint->host, endpoint->port);
}

void cluster_inbox_note_up(struct cluster_inbox *inbox)
{
    if (!inbox->endpoint.knows)
        cluster_inbox_move(inbox);
}

/* A node that serves nothing may have left the Cluster, or may be cut off from it. Such a node
 * still answers, but no message reaches it. */
void cluster_inbox_note_map(struct cluster_inbox *inbox)
{
    if (!inbox->endpoint.knows || slot_map_count(inbox->map, inbox->node) > 0)
        return;
    bool was_reported = inbox->loss_is_reported;
    inbox->loss_is_reported = true; /* the inbox itself ends this session: no warning */
    cluster_inbox_move(inbox);
    inbox->loss_is_reported = was_reported;
}

/* The pause keeps the inbox from circling fast while every node refuses it. */
static void cluster_inbox_on_endpoint_failed(void *context)
{
    struct cluster_inbox *inbox = context;
    if (uv_now(inbox->shards->loop) >= inbox->moved_at + STAYS_MS)
        cluster_inbox_move(inbox);
}

static void cluster_inbox_on_listening(void *context)
{
    struct cluster_inbox *inbox = context;
    const struct store_events *events = &inbox->shards->store_events;
    inbox->loss_is_reported = false;
    if (events->listening)
        events->listening(events->context, inbox->node);
}

static void cluster_inbox_on_message(void *context, struct slice text)
{
    const struct cluster_inbox *inbox = context;
    const struct store_events *events = &inbox->shards->store_events;
    if (events->message)
        events->message(events->context, inbox->node, text);
}

static void cluster_inbox_on_invalidated(void *context, struct slice key)
{
    (void)context, (void)key; /* the inbox of each node reports its keys */
}

static bool cluster_inbox_all_are_up(const struct cluster_inbox *inbox)
{
    const struct shards *shards = inbox->shards;
    for (unsigned i = 0; i < shards->count; i++)
        if (shards->nodes[i] && slot_map_count(inbox->map, i) > 0 && !shards_is_up(shards, i))
            return false;
    return inbox->map->uncovered == 0;
}

static void cluster_inbox_on_lost(void *context, const char *reason)
{
    struct cluster_inbox *inbox = context;
    struct failure warning;
    if (inbox->loss_is_reported || !cluster_inbox_all_are_up(inbox))
        return;
    inbox->loss_is_reported = true;
    failure_set(&warning, 0, INBOX_LOSS "%s", reason);
    shards_warn(inbox->shards, warning.text);
}

void cluster_inbox_init(struct cluster_inbox *inbox, const struct slot_map *map,
                        struct node_table *table, struct shards *shards)
{
    *inbox = (struct cluster_inbox){.shards = shards, .map = map, .table = table};
    endpoint_init(&inbox->endpoint, cluster_inbox_on_endpoint_failed, inbox);
}

void cluster_inbox_listen(struct cluster_inbox *inbox, struct slice channel)
{
    const struct inbox_events events = {inbox, cluster_inbox_on_listening, cluster_inbox_on_message,
                                        cluster_inbox_on_invalidated, cluster_inbox_on_lost};
    inbox->inbox =
        inbox_open(inbox->shards->loop, inbox->shards->url, &inbox->endpoint, channel, &events);
}

bool cluster_inbox_close(struct cluster_inbox *inbox, void (*closed)(void *context), void *context)
{
    if (inbox->inbox)
        inbox_close(inbox->inbox, closed, context);
    return inbox->inbox;
}
