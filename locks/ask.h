/* ask.h: has Redis run a script for a name, and tells of the holds that it has ended as expired.
 * Internal to locks/. */
#ifndef BATON_LOCKS_ASK_H
#define BATON_LOCKS_ASK_H

#include "redis/store.h"

struct locks;

/* As store_eval. Any script may find holds that have expired, and then tells of them beside its
 * reply: they are told to the `expired` of struct locks_options, and `done` gets the reply alone.
 * So each is told once, by the server whose script it was; not at all, where the reply got lost. */
void ask_redis(struct locks *locks, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

#endif
