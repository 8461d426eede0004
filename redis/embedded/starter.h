/* starter.h: a small process that starts a program for its maker, which may not start programs. */
#ifndef BATON_REDIS_EMBEDDED_STARTER_H
#define BATON_REDIS_EMBEDDED_STARTER_H

#include "base/failure.h"

#include <sys/types.h>

/* For each byte from its maker it starts the program once. It ends with the thread that made it;
 * only this thread uses it. */
struct starter;

/* `run` becomes the program, or ends. The new process calls it with `context` as it was at
 * starter_open. `run` may do only what a signal handler may. Returns 0 or a negative errno
 * with a failure. */
int starter_open(struct starter **ret, void (*run)(const void *context), const void *context,
                 struct failure *failure);

/* Starts the program once more. The new process is a child of the caller, not of the starter.
 * Returns its id or a negative errno. */
pid_t starter_start(struct starter *starter);

/* Ends the starter, and no other process. Takes NULL. */
void starter_close(struct starter *starter);

#endif
