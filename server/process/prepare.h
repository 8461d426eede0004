/* prepare.h: the steps of a start before the workers. */
#ifndef BATON_SERVER_PROCESS_PREPARE_H
#define BATON_SERVER_PROCESS_PREPARE_H

#include "server/process/process.h"

/* Call this first. Sets the number of workers, and raises the limit of open files as far as
 * possible. Returns 0, or -EINVAL if that is too low to serve. */
int prepare_files(struct process *process, struct failure *failure);

/* Call this second. Reads the settings and the files that they name: addresses, limits, principals
 * and certificates. Opens nothing that a running batond has open: no port, no Redis and no state
 * directory. Returns 0 or a negative errno, with a failure that names the setting and says how to
 * mend it. */
int prepare_read(struct process *process, struct failure *failure);

/* Call this third, to serve. Makes sure of the ports, and finds Redis or starts one. Wipes the
 * secrets in the settings. Returns as prepare_read does. */
int prepare_open(struct process *process, struct failure *failure);

/* Frees what prepare_read has made, even if it failed, and the settings. */
void prepare_undo(struct process *process);

#endif
