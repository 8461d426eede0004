/* operation.h: one operation on a name: runs its script and turns the reply into a locks_reply.
 * Also the portions of a scan of names. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_OPERATION_H
#define BATON_LOCKS_CALLS_OPERATION_H

#include "locks/calls/replies.h"
#include "locks/calls/state.h"
#include "locks/quarantine/stamp.h"

/* Reads a script's reply into `ret`. False: the reply has another shape. */
typedef bool operation_reader(const struct value *value, struct locks_reply *ret);

/* Runs `script` for `name` with the stamp and `arguments` as ARGV. `done` gets what `read` makes of
 * the reply, or without a good reply, what operation_unanswered makes. */
void operation_run(struct locks *locks, const struct script *script, struct slice name,
                   const struct slice *arguments, size_t argument_count, operation_reader *read,
                   locks_done *done, void *context);

enum { OPERATION_SCAN_ARGUMENTS = 68 };

/* Sends one portion of a scan of the names that begin with `prefix`, at the shard of `*position`
 * (see store_seek_shard), from SCAN's `cursor` on. If that shard has gone, the scan begins anew at
 * the next one, to which `*position` moves. The stamp, the cursor and the pattern of the keys come
 * before the arguments of `call`, OPERATION_SCAN_ARGUMENTS at most; its key is not used. */
void operation_scan(struct locks *locks, unsigned *position, struct slice cursor,
                    struct slice prefix, const struct script_call *call);

/* For operations with a store_done of their own: reads the reply; without a good one, sets
 * LOCKS_UNAVAILABLE or _DAMAGED, and `error`. */
void operation_read(const struct store_result *result, operation_reader *read,
                    struct locks_reply *ret);

/* Why there is no answer, as a text for clients. It leaves out addresses and details of Redis: they
 * are for the log. */
const char *operation_unavailable_because(const struct store_result *result);

/* LOCKS_UNAVAILABLE or _DAMAGED with `error`: for a result without a reply, or with one that cannot
 * be read. */
struct locks_reply operation_unanswered(const struct store_result *result);

/* Reports to the guard the greatest number (fence or version) in a reply, and a refusal because of
 * a quarantine. Call this for each reply that gives a client a number, before Redis answers
 * anything else. */
void operation_note(const struct locks *locks, const struct locks_reply *reply);

/* The script's key for a name. */
struct slice operation_key(const struct locks *locks, struct slice name, char key[KEY_LENGTH]);

/* The name that has this key; empty if no name has it. */
struct slice operation_name(const struct locks *locks, struct slice key, char name[NAME_LENGTH]);

#endif
