/* guard.h: keeps grants from being made while Redis may have lost holds that still run. Internal to
 * locks/. */
#ifndef BATON_LOCKS_QUARANTINE_GUARD_H
#define BATON_LOCKS_QUARANTINE_GUARD_H

#include "locks/quarantine/guard_options.h"
#include "redis/store.h"

/* The guard of one store. It stamps every script with what the script may do, and knows until when
 * each shard (an independent primary behind the store) is in quarantine. Used on the thread of the
 * store's loop alone.
 *
 * How the guard knows that data was lost: identity.h. Until when there may be holds: horizon.h. */
struct guard;

/* The store outlives the guard. Pass its events on: `up` to identity_connected, `taken` to
 * identity_taken, `moved` to horizon_level. Returns 0 or -ENOMEM. */
int guard_open(struct guard **ret, struct store *store, const struct guard_options *options);

/* Call this when the store is closed. Takes NULL. */
void guard_close(struct guard *guard);

/* The event `stamp` of the store. */
void guard_stamp(const struct guard *guard, unsigned number, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH]);

/* A script came too late, as its `error` says: either Redis was slow, or its clock has jumped. */
void guard_late(struct guard *guard, unsigned number, const char *error);

/* A script has granted nothing because of a quarantine. If none is known here, Redis has lost its
 * data since the last look at the record, and it is looked at now. */
void guard_refused(struct guard *guard);

/* Call this with each number (fence or version) that a client is about to be told, before Redis
 * answers anything else. The number may be ahead of what the guard knows, if the clock went back
 * while no batond was there. Then all numbers go on from it, and the record says so. */
void guard_heard_number(struct guard *guard, int64_t number);

#endif
