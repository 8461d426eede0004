/* readings.h: the files that say who may ask, and what TLS clients are shown: read at the start and
 * again on SIGHUP. */
#ifndef BATON_SERVER_PROCESS_READINGS_H
#define BATON_SERVER_PROCESS_READINGS_H

#include "server/process/process.h"

/* Who may ask: what the tokens-file says, or without one what the other settings do. Returns 0 or a
 * negative errno with a failure that says how to mend it. */
int readings_of_principals(struct process *process, struct failure *failure);

/* The certificate and its key, and the authority of the clients; nothing where HTTPS is not asked
 * for. Returns as above. */
int readings_of_https(struct process *process, struct failure *failure);

/* Reads all that is set again and gives it to the workers. A file that is no good is logged, and
 * what was read before stays in force. */
void readings_again(struct process *process);

#endif
