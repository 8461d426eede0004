/* expiries.h: watches the ends of holds that this worker granted or renewed, so that it notices an
 * expiry even without a request for the name. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_EXPIRIES_H
#define BATON_LOCKS_WAITING_EXPIRIES_H

#include "base/siphash.h"
#include "base/slabs.h"
#include "base/slice.h"

#include <sys/queue.h>
#include <uv.h>

struct ending;
struct hold;
struct locks;

/* An expiry runs no code in Redis. If the name has waiters, the subscription's tick notices it;
 * this module does so for all other names. When a hold may have ended, as far as this worker knows,
 * it asks Redis, for many names at once. If another worker renewed the hold, it asks again at the
 * new end. A release by this worker removes the name; a release elsewhere costs one script. */

enum {
    EXPIRIES_SLOT_MS = 250,
    EXPIRIES_SLOTS = 2048,     /* a later end waits in the last slot, then moves on */
    EXPIRIES_GRACE_MS = 150,   /* Redis' clock decides; and a request may come first */
    EXPIRIES_BYTES = 16 << 20, /* at most; about a hundred thousand names */
};

/* Names by key, and a timer wheel: the names of a slot are due at about the same time. */
struct expiries {
    struct siphash_key hash_key;
    struct ending **table;
    size_t table_size; /* a power of two */
    size_t count;
    struct slabs slabs; /* a name stays here as long as its TTL */
    uint64_t left_out;  /* holds that EXPIRIES_BYTES had no room for */
    LIST_HEAD(ending_list, ending) slots[EXPIRIES_SLOTS];
    uint64_t slot;   /* number of the next slot to go through; slot 0 begins at loop time 0 */
    unsigned asking; /* scripts under way */
    uv_timer_t timer;
};

/* `locks` has its loop already. */
void expiries_open(struct locks *locks);

/* Call this from the loop, when the store is closed. The loop frees the rest later. */
void expiries_close(struct locks *locks);

/* Notes that `hold` was granted or renewed here, so the name is held at least for its TTL. */
void expiries_note(struct locks *locks, struct slice key, const struct hold *hold);

/* The owner of a hold has released it and has no other. */
void expiries_released(struct locks *locks, struct slice key);

#endif
