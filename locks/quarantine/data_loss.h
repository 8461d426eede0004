/* data_loss.h: until when holds may run that a Redis has lost. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_DATA_LOSS_H
#define BATON_LOCKS_QUARANTINE_DATA_LOSS_H

#include "locks/quarantine/quarantine.h"

struct identity_record;
struct shard;

enum {
    /* What others have granted within the last second, only they know: by then they are connected,
     * and have said so. Microseconds. */
    DATA_LOSS_GRACE_US = 2500000,
};

/* Each asks of a shard, of which `record` was read just now, what follows from that something has
 * happened to it (NONE: nothing has) since what is known of it was adopted. All return times by
 * Redis' clock. */

/* Until when holds may run that were lost; 0: nothing is lost, or nobody knows. */
int64_t data_loss_until(const struct shard *shard, const struct identity_record *record,
                        enum quarantine_reason reason);

/* The same for who is the first to notice. */
int64_t data_loss_at_least(const struct shard *shard, const struct identity_record *record,
                           enum quarantine_reason reason);

/* Where another server was promoted, the one before it may go on granting for those who still see
 * it: of that nothing is known here. Where no hold is told of before every replica has it, it
 * cannot: the promoted one is none of its replicas any more. 0: there is no such one. */
int64_t data_loss_unseen_until(const struct shard *shard, const struct identity_record *record,
                               enum quarantine_reason reason);

/* For what may run until our `ends`, or for as long as is set. */
int64_t data_loss_set_length(const struct shard *shard, int64_t ends);

#endif
