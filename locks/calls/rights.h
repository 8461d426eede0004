/* rights.h: whether batond's user in Redis may run all commands of its scripts. Internal to
 * locks/. */
#ifndef BATON_LOCKS_CALLS_RIGHTS_H
#define BATON_LOCKS_CALLS_RIGHTS_H

#include "locks/calls/operation.h"

/* Call this in the store's event `up`: asks Redis before any other call. The store's warning names
 * a missing right. */
void rights_ask(struct locks *locks, unsigned shard);

/* Notes the error of script_ready; NULL: it ran. */
void rights_note(struct locks *locks, const char *error);

/* Which right is missing, as a text for people; `otherwise` if none is known to be. */
const char *rights_missing(const struct locks *locks, const char *otherwise);

#endif
