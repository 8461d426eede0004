/* end_early.h: ends quarantines before their time, because an operator says that nothing was lost.
 * Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_END_EARLY_H
#define BATON_LOCKS_QUARANTINE_END_EARLY_H

#include "locks/quarantine/guard.h"

/* `ended`: so many shards have left quarantine. With an `error`, for clients: a quarantine may go
 * on. */
typedef void end_early_done(void *context, unsigned ended, const char *error);

/* Ends every known quarantine, for all that share the Redis: other servers know within a second. A
 * loss that is noticed later begins another one. `done` runs once, from the loop and never
 * before this has returned. Returns false, and does nothing, if no shard is known. */
bool end_early(struct guard *guard, end_early_done *done, void *context);

#endif
