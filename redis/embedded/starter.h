/* starter.h: a small process that starts a program again for one that has given up starting any. */
#ifndef BATON_REDIS_EMBEDDED_STARTER_H
#define BATON_REDIS_EMBEDDED_STARTER_H

#include "base/failure.h"

#include <sys/types.h>

/* It waits for a word from its maker, can do one thing, and ends with the maker's thread. Used by
 * that thread alone. */
struct starter;

/* `run` becomes the program, or ends; it is called in a new process, with `context` as it was when
 * the starter was opened, and may do only what a signal handler may. Returns 0 or a negative errno
 * with a failure. */
int starter_open(struct starter **ret, void (*run)(const void *context), const void *context,
                 struct failure *failure);

/* Has it started once more. The new process is a child of the caller's, not of the starter's.
 * Returns its id or a negative errno. */
pid_t starter_start(struct starter *starter);

/* Ends the starter, and no other process. Takes NULL. */
void starter_close(struct starter *starter);

#endif
