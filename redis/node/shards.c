#include "redis/node/shards.h"

#include "base/memory.h"

#include <string.h>

struct node *shards_at(const struct shards *shards, unsigned number)
{
    return number < shards->count ? shards->nodes[number] : NULL;
}

bool shards_is_up(const struct shards *shards, unsigned number)
{
    const struct node *node = shards_at(shards, number);
    return node && !shards->closing && node_serves(node);
}

void shards_warn(void *context, const char *text)
{
    const struct store_observer *observer = &((struct shards *)context)->store_events.observer;
    if (observer->warning)
        observer->warning(observer->context, text);
}

/* Changed keys */

void shards_track(struct shards *shards, unsigned number)
{
    if (shards->keys_apart)
        node_listen(shards->nodes[number], (struct slice){NULL, 0});
    node_track(shards->nodes[number], shards->prefix);
}

void shards_set_prefix(struct shards *shards, struct slice prefix)
{
    char *bytes = memory_checked(malloc(prefix.length + 1));
    memcpy(bytes, prefix.bytes, prefix.length);
    free((char *)shards->prefix.bytes);
    shards->prefix = (struct slice){bytes, prefix.length};
}

void shards_untrack(struct shards *shards)
{
    free((char *)shards->prefix.bytes);
    shards->prefix = (struct slice){NULL, 0};
    for (unsigned i = 0; !shards->closing && i < shards->count; i++)
        if (shards->nodes[i] && node_tracks(shards->nodes[i]))
            node_untrack(shards->nodes[i]);
}

/* The beginning and the end */

void shards_add(struct shards *shards, unsigned number, const struct redis_url *url,
                struct endpoint *endpoint)
{
    const struct node_options options = {.loop = shards->loop,
                                         .url = url,
                                         .endpoint = endpoint,
                                         .number = number,
                                         .events = shards->node_events,
                                         .store_events = &shards->store_events};
    if (number >= shards->count)
        shards->count = number + 1;
    if (shards->closing)
        return;
    shards->nodes[number] = node_open(&options);
    shards->open++;
}

static void shards_one_closed(void *context)
{
    struct shards *shards = context;
    if (--shards->open > 0)
        return;
    free((char *)shards->prefix.bytes);
    shards->closed(shards->closed_context);
}

void shards_close(struct shards *shards, void (*closed)(void *context), void *context)
{
    shards->closing = true;
    shards->closed = closed;
    shards->closed_context = context;
    shards->open++;
    for (unsigned i = 0; i < shards->count; i++)
        if (shards->nodes[i])
            node_close(shards->nodes[i], shards_one_closed, shards);
    shards_one_closed(shards);
}
