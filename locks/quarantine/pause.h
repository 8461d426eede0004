/* pause.h: how much longer quarantines pause grants, for requests, people and metrics. Internal to
 * locks/. */
#ifndef BATON_LOCKS_QUARANTINE_PAUSE_H
#define BATON_LOCKS_QUARANTINE_PAUSE_H

#include "locks/quarantine/guard.h"

/* For how many more milliseconds no client is granted the name of this key, as far as is known, and
 * why; 0: it may be granted now. Without a key: the longest quarantine of any shard. */
int64_t pause_left_ms(const struct guard *guard, struct slice key,
                      enum quarantine_reason *ret_reason);

/* The same, until no name is refused any more: if members share holds, none is while more than half
 * of them are up and not in quarantine. */
int64_t pause_of_any_ms(const struct guard *guard, enum quarantine_reason *ret_reason);

/* Whether the shard of this key is in quarantine. */
bool pause_covers(const struct guard *guard, struct slice key);

/* For each shard that is in quarantine: sets *ret and moves *position on, which is 0 at first.
 * False: there are no more. */
bool pause_next(const struct guard *guard, unsigned *position, struct quarantine_state *ret);

/* For how many milliseconds nothing would be granted if a shard lost all its data now, as far as
 * this process knows of holds; of several shards the longest. 0: no hold is known, or a loss would
 * pause nothing. */
int64_t pause_after_loss_ms(const struct guard *guard);

/* How many shards of several are in quarantine; 0 if the store has but one. */
unsigned pause_count(const struct guard *guard);

#endif
