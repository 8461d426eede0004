/* libraries.h: deletes the function libraries of old releases from Redis. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_LIBRARIES_H
#define BATON_LOCKS_CALLS_LIBRARIES_H

#include "locks/locks.h"

/* Each release has its own library name, so that several releases can share a Redis. Redis never
 * drops a library. So each worker calls locks/scripts/libraries.lua on each shard from time to
 * time: it notes that the worker's library is in use, and finds libraries that no worker of any
 * batond has used for a day. The worker deletes those. Deleting one too early does no harm: the
 * next caller loads it again. */

/* Checks about every `check_ms` from now on, the first time soon; 0: never. */
void libraries_open(struct locks *locks, int64_t check_ms);

/* Call this from the loop, when the store is closed. The loop frees the rest later. */
void libraries_close(struct locks *locks);

#endif
