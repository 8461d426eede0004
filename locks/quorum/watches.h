/* watches.h: the requests that wait for a change of a name of a quorum. Internal to
 * locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_WATCHES_H
#define BATON_LOCKS_QUORUM_WATCHES_H

#include "locks/watching/watch.h"

/* The operation of engine.h. */
struct watch *quorum_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                           int64_t wait_ms, locks_done *done, void *context);

extern const struct watched_kind quorum_watched;

#endif
