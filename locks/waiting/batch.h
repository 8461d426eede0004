/* batch.h: runs one script for many names, once at each shard that serves some of them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WAITING_BATCH_H
#define BATON_LOCKS_WAITING_BATCH_H

#include "redis/store.h"

struct locks;

enum { BATCH_NAMES = 200 }; /* at most; some milliseconds of Redis' time */

/* The names of one shard whose script is under way. A name may be forgotten before the reply, so
 * its key is a copy. */
struct batch {
    struct locks *locks;
    uint64_t sent; /* loop time, ms */
    size_t count;
    struct slice keys[BATCH_NAMES];
    char bytes[];
};

/* ARGV is the stamp, the `first` arguments (BATCH_FIRST_MOST at most), then the keys that the shard
 * serves. Puts `keys` in the order of their shards. `done` gets its struct batch as context and
 * frees it. Returns the number of batches. */
enum { BATCH_FIRST_MOST = 2 };
unsigned batches_send(struct locks *locks, const struct script *script, struct slice *keys,
                      size_t count, const struct slice *first, size_t first_count,
                      store_done *done);

#endif
