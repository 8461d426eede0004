/* supervisor.h: the main thread while workers serve: handles signals, watches the workers' loops
 * and the embedded Redis, and stops the service. */
#ifndef BATON_SERVER_PROCESS_SUPERVISOR_H
#define BATON_SERVER_PROCESS_SUPERVISOR_H

#include "server/process/process.h"

/* Makes the loop. Call this before you open anything of the process. */
void supervisor_prepare(struct process *process);

/* From here on the loop handles signals; before, they end the process at once. Signals that stop
 * batond wait for supervisor_serve. Threads that start in between get no signals. */
void supervisor_begin(struct process *process);

/* Returns when the workers have to stop: after a signal, and the time of `drain` if it applies. No
 * signal ends the process from then on. */
void supervisor_serve(struct process *process);

#endif
