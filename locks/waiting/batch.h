/* batch.h: runs one script for many names, once on each shard that serves some of them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_WAITING_BATCH_H
#define BATON_LOCKS_WAITING_BATCH_H

#include "redis/store.h"

struct locks;

enum { BATCH_NAMES = 200 }; /* at most; some milliseconds of Redis' time */

/* The names of one shard whose script is under way. Copies the keys, since a name may be forgotten
 * before the reply. */
struct batch {
    struct locks *locks;
    uint64_t sent; /* loop time, ms */
    size_t count;
    struct slice keys[BATCH_NAMES];
    char bytes[];
};

/* ARGV is the stamp, the `first` arguments (at most BATCH_FIRST_MOST), then the keys of the shard.
 * Sorts `keys` by shard. `done` gets its struct batch as context and frees it. Returns the number
 * of batches. */
enum { BATCH_FIRST_MOST = 2 };
unsigned batches_send(struct locks *locks, const struct script *script, struct slice *keys,
                      size_t count, const struct slice *first, size_t first_count,
                      store_done *done);

#endif
