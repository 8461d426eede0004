/* succession.h: what one shard of the store tells of another: in a Cluster names and data go from
 * one to the other, in a quorum all have the same holds. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SUCCESSION_H
#define BATON_LOCKS_QUARANTINE_SUCCESSION_H

#include <stdbool.h>
#include <stdint.h>

struct identity_record;
struct shard;

/* In a Cluster another shard may have had this data: its server has died or stepped down, and one
 * of its replicas answers here. NULL: none is known that has. */
const struct shard *succession_find(const struct shard *shard,
                                    const struct identity_record *record);

/* What is known of that one is from now on known of this one, as if it were the same. */
void succession_continue(struct shard *shard, const struct shard *before);

/* Slots may bring the record of the shard that they come from, which goes on serving others. */
bool succession_is_of_another(const struct shard *shard, const struct identity_record *record);

/* The other members of a quorum were told of the same holds, and their clocks have numbered some of
 * them. Does nothing elsewhere. */
void succession_learn(struct shard *shard);

/* A member of a quorum without a record may be new, or have lost it together with who remembered
 * it: a majority can tell. */
bool succession_wait_for_others(const struct shard *shard);

#endif
