/* rights.h: whether the user of batond may run all commands of its scripts in Redis. Internal to
 * locks/. */
#ifndef BATON_LOCKS_CALLS_RIGHTS_H
#define BATON_LOCKS_CALLS_RIGHTS_H

#include "locks/calls/operation.h"

/* From within the store's event `up`: has Redis asked before anything else. Where something is
 * missing, the store's own warning names it. */
void rights_ask(struct locks *locks, unsigned shard);

/* Takes the error that script_ready was answered with; NULL: it has run. */
void rights_note(struct locks *locks, const char *error);

/* What is missing, for people; `otherwise` where nothing is, as far as is known. */
const char *rights_missing(const struct locks *locks, const char *otherwise);

#endif
