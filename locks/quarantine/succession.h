/* succession.h: what the guard knows of one shard by another: in a Cluster names and data go from
 * one to the other, in a quorum all members have the same holds. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SUCCESSION_H
#define BATON_LOCKS_QUARANTINE_SUCCESSION_H

#include <stdbool.h>

struct guard;
struct identity_record;
struct shard;

/* The shard of a Cluster that had this data before: its server has died or stepped down, and one of
 * its replicas answers as this shard. NULL: no such shard is known. */
const struct shard *succession_find(const struct shard *shard,
                                    const struct identity_record *record);

/* Inherits what is known of the shard `before`, as if it were this one. */
void succession_inherit(struct shard *shard, const struct shard *before);

/* Whether the record is that of another shard, which goes on serving other slots: slots that came
 * from there have brought it. */
bool succession_is_of_another(const struct shard *shard, const struct identity_record *record);

/* Learns from the other members of a quorum: they have the same holds, and have numbered some of
 * them by their clocks. Does nothing unless members share holds. */
void succession_learn(struct shard *shard);

/* Whether a member of a quorum that has no record has to wait until more members were heard. It may
 * be new, or it may have lost its record when all servers that knew it were gone: a majority can
 * tell. */
bool succession_waits_for_members(const struct shard *shard);

/* Whether the members of a quorum have to wait for one another: until the records of all are known,
 * or for half a second. If the first of new members granted a hold before the last one had its
 * record, the last one would seem to have lost that hold. */
bool succession_waits_at_start(const struct guard *guard);

#endif
