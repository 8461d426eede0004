/* data_loss.h: until when holds may run that a Redis has lost. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_DATA_LOSS_H
#define BATON_LOCKS_QUARANTINE_DATA_LOSS_H

#include "locks/types/quarantine.h"

struct identity_record;
struct shard;

enum {
    /* Only the other servers know what they have granted within the last second. After this time
     * they have connected again, and have written it to the record. Microseconds. */
    DATA_LOSS_GRACE_US = 2500000,
};

/* Each function is about a shard of which `record` was read just now. `reason` says what has
 * happened to it since its identity was adopted (QUARANTINE_NONE: nothing). All return a time by
 * Redis' clock. */

/* Until when lost holds may run; 0: nothing is lost, or nobody knows of a loss. */
int64_t data_loss_until(const struct shard *shard, const struct identity_record *record,
                        enum quarantine_reason reason);

/* The same for the first server that notices the loss: not before the time of grace is over. */
int64_t data_loss_at_least(const struct shard *shard, const struct identity_record *record,
                           enum quarantine_reason reason);

/* Until when holds may run that the server before has granted after another was promoted, to
 * clients that still see it; 0: it has granted none. This process knows nothing of such holds.
 * There are none if every replica has to confirm a hold: the promoted server is no longer a
 * replica. */
int64_t data_loss_unseen_until(const struct shard *shard, const struct identity_record *record,
                               enum quarantine_reason reason);

/* When a quarantine ends that begins now, for holds that end at `ends` (our time): at the latest
 * time that Redis' clock may show then, or after the length that is set. */
int64_t data_loss_set_length(const struct shard *shard, int64_t ends);

#endif
