/* slot_migration.h: whether a replica of a Redis Cluster may lack what its primary has answered
 * although all of it was confirmed, since slots have moved. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H
#define BATON_LOCKS_QUARANTINE_SLOT_MIGRATION_H

#include "locks/quarantine/guard.h"

/* - While a slot is on its way, some of its holds are at the node that it goes to. Only the two
 *   nodes know that; a replica that is promoted meanwhile takes the names for free. The other node
 *   goes on saying that the slot comes to it, until somebody mends that: so all are asked before
 *   the record of one that was promoted is judged.
 * - What has come to a node by a move nobody has confirmed there: so that is done afterwards, and
 *   until then a replica of it may lack that. */

/* Names have come to it, or begin to. */
void slot_migration_taken(struct guard_part *part);

/* Every second, of a part that is known: confirms what has come. */
void slot_migration_settle(struct guard_part *part);

/* Whether the others have to be heard before the part is judged: asks them, and has the part looked
 * at again when they have answered. */
bool slot_migration_waits(struct guard_part *part);

/* As clock_skew_continue. */
void slot_migration_continue(struct guard_part *part, const struct guard_part *mine);

/* Whether a replica of this part, which has followed it, may lack what was confirmed. */
bool slot_migration_may_lose(const struct guard_part *part);

#endif
