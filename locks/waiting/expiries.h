/* expiries.h: looks after the ends of holds that were granted or renewed here, so that an expiry is
 * noticed though nobody asks for the name again. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_EXPIRIES_H
#define BATON_LOCKS_WAITING_EXPIRIES_H

#include "base/siphash.h"
#include "base/slice.h"

#include <uv.h>

struct ending;
struct hold;
struct locks;

/* An expiry runs no code in Redis. Whoever waits for a name sees to it that its end is noticed; for
 * the others there is this. When a hold may have ended by what is known here, Redis is asked, for
 * many names at once; where it was renewed by way of another server, again at its new end. What was
 * released here is forgotten, what was released elsewhere or broken costs one look. */

enum {
    EXPIRIES_SLOT_MS = 250,
    EXPIRIES_SLOTS = 2048,     /* a name whose end is further away is moved on when they are over */
    EXPIRIES_GRACE_MS = 150,   /* Redis's clock decides; and whoever comes anyway may come first */
    EXPIRIES_BYTES = 16 << 20, /* at most; about a hundred thousand names */
};

/* Names by key, and a wheel of slots: those of one are due at about the same time. */
struct expiries {
    struct siphash_key hash_key;
    struct ending **table;
    size_t table_size; /* a power of two */
    size_t count;
    size_t bytes;
    uint64_t left_out; /* holds that there was no room for */
    struct ending *slots[EXPIRIES_SLOTS];
    uint64_t slot; /* the number of the next slot to be looked at; they count from time 0 */
    unsigned asking;
    uv_timer_t timer;
};

/* `locks` has its loop already. */
void expiries_open(struct locks *locks);

/* Call this from the loop, after the store is closed; `closed` is called later. */
void expiries_close(struct locks *locks, uv_close_cb closed);

/* `hold` was granted or renewed here: the name is held at least until its TTL ends. */
void expiries_note(struct locks *locks, struct slice key, const struct hold *hold);

/* The owner of a hold has released it and has no other. */
void expiries_released(struct locks *locks, struct slice key);

#endif
