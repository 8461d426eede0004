/* libraries.h: deletes from Redis the libraries of functions of releases that nobody runs any more.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_LIBRARIES_H
#define BATON_LOCKS_CALLS_LIBRARIES_H

#include "locks/locks.h"

/* Each release has a library of its own name, so that several releases can share a Redis. Redis
 * keeps a library for ever, and so each worker asks each shard from time to time
 * (locks/scripts/libraries.lua): that notes that this worker's library is still in use, and finds
 * those that no worker of any batond has used for a day. They are deleted. A library that is
 * deleted too early does no harm: whoever calls it loads it again. */

/* Asks about every `check_ms` from now on, and for the first time soon; 0: never. */
void libraries_open(struct locks *locks, int64_t check_ms);

/* Call this from the loop, when the store is closed. The loop then frees what is left of it. */
void libraries_close(struct locks *locks);

#endif
