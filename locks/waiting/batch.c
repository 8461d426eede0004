#include "locks/waiting/batch.h"

#include "base/memory.h"
#include "locks/calls/operation.h"

/* Moves the keys of the first key's shard to the front. Returns their number. */
static size_t batch_gather(const struct store *store, unsigned shard, struct slice *keys,
                           size_t count)
{
    size_t found = 1;
    for (size_t i = 1; i < count; i++) {
        struct slice key = keys[i];
        if (store_shard(store, key) != shard)
            continue;
        keys[i] = keys[found];
        keys[found++] = key;
    }
    return found;
}

static struct batch *batch_new(struct locks *locks, const struct slice *keys, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += keys[i].length;
    struct batch *batch = memory_checked(malloc(sizeof *batch + length));
    batch->locks = locks;
    batch->sent = uv_now(locks->loop);
    batch->count = count;
    char *end = batch->bytes;
    for (size_t i = 0; i < count; i++) {
        batch->keys[i] = (struct slice){end, keys[i].length};
        end = mempcpy(end, keys[i].bytes, keys[i].length);
    }
    return batch;
}

unsigned batches_send(struct locks *locks, const struct script *script, struct slice *keys,
                      size_t count, const struct slice *first, size_t first_count, store_done *done)
{
    struct slice arguments[1 + BATCH_FIRST_MOST + BATCH_NAMES] = {stamp_placeholder()};
    struct slice *own = arguments + 1 + first_count;
    unsigned batches = 0;
    for (size_t i = 0; i < first_count; i++)
        arguments[1 + i] = first[i];
    for (size_t found; count > 0; keys += found, count -= found, batches++) {
        unsigned shard = store_shard(locks->store, keys[0]);
        found = batch_gather(locks->store, shard, keys, count);
        struct batch *batch = batch_new(locks, keys, found);
        memcpy(own, batch->keys, found * sizeof *own);
        const struct script_call call = {
            .script = script,
            .key = batch->keys[0],
            .arguments = arguments,
            .argument_count = 1 + first_count + found,
            .done = done,
            .context = batch,
        };
        store_eval_at(locks->store, shard, &call);
    }
    return batches;
}
