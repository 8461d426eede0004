/* identity_judge.h: what a record that was just read says of its shard: whether data was lost, and
 * until when nothing is granted. Internal to locks/quarantine/. */
#ifndef BATON_LOCKS_QUARANTINE_IDENTITY_JUDGE_H
#define BATON_LOCKS_QUARANTINE_IDENTITY_JUDGE_H

struct identity_record;
struct shard;

/* Adopts the record, or replaces it if this server is the first to notice a loss. Sets the
 * quarantine, and opens the gate of the shard when its record is settled. Call this when the
 * shard's clock was measured by the same answer. */
void identity_judge(struct shard *shard, const struct identity_record *record);

#endif
