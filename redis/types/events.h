/* events.h: what a store of Redis tells its owner. */
#ifndef BATON_REDIS_TYPES_EVENTS_H
#define BATON_REDIS_TYPES_EVENTS_H

#include "base/slice.h"

#include <stdint.h>

enum { STORE_STAMP_LENGTH = 40 }; /* bytes */

/* What the store tells whoever opened it, always from the loop and never from inside a call to the
 * store (but for `stamp`). Each may be NULL. */
struct store_events {
    void *context;
    /* The part has a new connection. What is called from in here for this part reaches it before
     * anything else. */
    void (*up)(void *context, unsigned part);
    /* That was lost or could not be made; `reason` says why and what to look at. Told once for each
     * loss and, while this part of Redis stays away, again only when the reason changes. */
    void (*down)(void *context, unsigned part, const char *reason);
    /* Redis is usable but set up in a way that can lose locks (eviction, a replica, …), told after
     * each connect; or it answers scripts with errors, told every 10 s at most. */
    void (*warning)(void *context, const char *text);
    /* Names may be served by other parts than before, which have their connections already. */
    void (*moved)(void *context);
    /* Before that, and before anything is sent there that `from` has sent away: the part `to`
     * serves names that `from` has served, or begins to. May be told often. */
    void (*taken)(void *context, unsigned to, unsigned from);
    /* The inbox (store_listen) is subscribed, for the first time or again after a loss: whatever
     * was published to it before may have been missed. */
    void (*listening)(void *context);
    /* A message came in the inbox. Valid during the call. */
    void (*message)(void *context, struct slice text);
    /* A key that store_track asked about has changed; without bytes: any of them may have. */
    void (*touched)(void *context, struct slice key);
    /* A script has run, and replied so long after it was given to store_eval. */
    void (*answered)(void *context, uint64_t nanoseconds);
    /* The first argument of each script is a stamp: this writes it whenever the script is sent to a
     * part, at `now` (uv_hrtime). NULL: scripts have no such argument. */
    void (*stamp)(void *context, unsigned part, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
};

#endif
