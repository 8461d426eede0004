/* supervisor.h: the main thread while workers serve: it hears signals, looks after the workers'
 * loops and the embedded Redis, and ends the service in good order. */
#ifndef BATON_SERVER_PROCESS_SUPERVISOR_H
#define BATON_SERVER_PROCESS_SUPERVISOR_H

#include "server/process/process.h"

/* Makes the loop. To be called before anything of the process is opened. */
void supervisor_prepare(struct process *process);

/* From now on signals are the loop's; until here they end the process at once. Those that stop it
 * wait for supervisor_serve; threads that are started in between never hear of any. */
void supervisor_begin(struct process *process);

/* Returns when the workers are to be stopped: after a signal, and the time of `drain` where that
 * applies. No signal ends the process from then on. */
void supervisor_serve(struct process *process);

#endif
