/* end_early.h: ends quarantines before their time, because an operator says that nothing was lost.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_END_EARLY_H
#define BATON_LOCKS_QUARANTINE_END_EARLY_H

#include "locks/quarantine/guard.h"

/* `ended`: so many shards were in quarantine, and no longer are. With an `error`, for clients:
 * a quarantine may go on. */
typedef void end_early_done(void *context, unsigned ended, const char *error);

/* Ends each quarantine that was noticed so far, for all who share the Redis; others know it within
 * a second. What is noticed later begins another one. `done` runs once, from the loop and never
 * before this has returned. Returns false, and does nothing, where no shard is known. */
bool end_early(struct guard *guard, end_early_done *done, void *context);

#endif
