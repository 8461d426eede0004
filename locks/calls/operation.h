/* operation.h: one operation under way: its script's arguments on the way to Redis, its reply on
 * the way back. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_OPERATION_H
#define BATON_LOCKS_CALLS_OPERATION_H

#include "locks/calls/replies.h"
#include "locks/calls/script_call.h"
#include "locks/calls/state.h"
#include "locks/types/stamp.h"

/* Reads a script's reply into `ret`; false where it is not of the expected shape. */
typedef bool operation_reader(const struct value *value, struct locks_reply *ret);

/* Runs `script` for `name`, whose ARGV is the stamp and then `arguments`, and answers through
 * locks_done: LOCKS_UNAVAILABLE where the store has no reply, else what `read` makes of it. */
void operation_run(struct locks *locks, const struct script *script, struct slice name,
                   const struct slice *arguments, size_t argument_count, operation_reader *read,
                   locks_done *done, void *context);

/* What a store's result means, for operations that have a callback of their own: reads the reply,
 * or sets LOCKS_UNAVAILABLE or _DAMAGED, and `error`. */
void operation_read(const struct store_result *result, operation_reader *read,
                    struct locks_reply *ret);

/* Why there is no answer, as far as a client may know it: where Redis is and what ails it is for
 * batond's own log. */
const char *operation_unavailable_because(const struct store_result *result);

/* LOCKS_DAMAGED or _UNAVAILABLE, for a result that is no reply that could be read; sets `error`. */
struct locks_reply operation_unanswered(const struct store_result *result);

/* Tells the guard of the greatest number (fence or version) in a reply. Call this with each reply
 * that tells a client of a number, while the answer of Redis is the last. */
void operation_note_numbers(const struct locks *locks, const struct locks_reply *reply);

/* The script's key for a name. */
struct slice operation_key(const struct locks *locks, struct slice name, char key[KEY_LENGTH]);

#endif
