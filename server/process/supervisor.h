/* supervisor.h: the main thread while workers serve: handles signals, watches the workers' loops
 * and the embedded Redis, and stops the service. */
#ifndef BATON_SERVER_PROCESS_SUPERVISOR_H
#define BATON_SERVER_PROCESS_SUPERVISOR_H

#include "server/process/process.h"

/* Makes the loop. Call this before you open anything of the process. */
int supervisor_prepare(struct process *process, struct failure *failure);

/* Before this call, signals end the process at once; afterwards the loop handles them. Signals that
 * stop batond wait for supervisor_serve, and threads that start in between do not get them. */
void supervisor_begin(struct process *process);

/* Returns when the workers must stop: after a signal, or at the end of the drain. From then on no
 * signal ends the process. */
void supervisor_serve(struct process *process);

#endif
