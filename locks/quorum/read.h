/* read.h: reads what a majority of a quorum knows about a name. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_READ_H
#define BATON_LOCKS_QUORUM_READ_H

#include "locks/locks.h"

/* The operation of engine.h. The version never falls: if no majority knows it yet, it is written
 * back before `done` runs. */
void quorum_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                    locks_done *done, void *context);

#endif
