#include "redis/cluster/cluster_inbox.h"

enum { STAYS_MS = 500 }; /* the inbox stays at a node for this long, whatever fails there */

static void cluster_inbox_move(struct cluster_inbox *inbox)
{
    const struct cluster_inbox_options *options = &inbox->options;
    if (!cluster_shards_next(options->shards, &inbox->node))
        return;
    const struct endpoint *endpoint = cluster_endpoint(options->cluster, inbox->node);
    inbox->turned = uv_now(options->loop);
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
    if (!inbox->endpoint.knows || cluster_slots_of(inbox->options.cluster, inbox->node) > 0)
        return;
    bool was_told = inbox->loss_is_told;
    inbox->loss_is_told = true; /* the inbox itself ends this session: no warning */
    cluster_inbox_move(inbox);
    inbox->loss_is_told = was_told;
}

/* The pause keeps the inbox from circling fast while every node refuses it. */
static void cluster_inbox_on_endpoint_failed(void *context)
{
    struct cluster_inbox *inbox = context;
    if (uv_now(inbox->options.loop) >= inbox->turned + STAYS_MS)
        cluster_inbox_move(inbox);
}

static void cluster_inbox_on_listening(void *context)
{
    struct cluster_inbox *inbox = context;
    const struct store_events *events = inbox->options.events;
    inbox->loss_is_told = false;
    if (events->listening)
        events->listening(events->context);
}

static void cluster_inbox_on_message(void *context, struct slice text)
{
    const struct store_events *events = ((struct cluster_inbox *)context)->options.events;
    if (events->message)
        events->message(events->context, text);
}

static void cluster_inbox_on_touched(void *context, struct slice key)
{
    (void)context,
        (void)key; /* each node's own inbox reports its keys: redis/cluster/cluster_shard.h */
}

static void cluster_inbox_on_lost(void *context, const char *reason)
{
    struct cluster_inbox *inbox = context;
    const struct store_events *events = inbox->options.events;
    struct failure warning;
    if (inbox->loss_is_told || !cluster_shards_are_up(inbox->options.shards))
        return;
    inbox->loss_is_told = true;
    failure_set(&warning, 0,
                "waiters get their locks late until messages from Redis arrive again: %s", reason);
    if (events->warning)
        events->warning(events->context, warning.text);
}

void cluster_inbox_init(struct cluster_inbox *inbox, const struct cluster_inbox_options *options)
{
    *inbox = (struct cluster_inbox){.options = *options};
    endpoint_init(&inbox->endpoint, cluster_inbox_on_endpoint_failed, inbox);
}

int cluster_inbox_listen(struct cluster_inbox *inbox, struct slice channel)
{
    const struct cluster_inbox_options *options = &inbox->options;
    const struct inbox_events events = {
        .context = inbox,
        .listening = cluster_inbox_on_listening,
        .message = cluster_inbox_on_message,
        .touched = cluster_inbox_on_touched,
        .lost = cluster_inbox_on_lost,
    };
    return inbox_open(&inbox->inbox, options->loop, options->url, &inbox->endpoint, channel,
                      &events);
}

bool cluster_inbox_close(struct cluster_inbox *inbox, void (*closed)(void *context), void *context)
{
    if (inbox->inbox)
        inbox_close(inbox->inbox, closed, context);
    return inbox->inbox;
}
