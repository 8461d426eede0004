/* readings.h: reads the tokens-file and the files of TLS, at the start and again on SIGHUP. */
#ifndef BATON_SERVER_PROCESS_READINGS_H
#define BATON_SERVER_PROCESS_READINGS_H

#include "server/process/process.h"

/* Takes the principals from the tokens-file, or from other settings without such a file. Returns 0
 * or a negative errno with a failure that says how to mend it. */
int readings_of_principals(struct process *process, struct failure *failure);

/* Reads the certificate, its key and the authority of client certificates; does nothing
 * without a tls-cert. Returns as readings_of_principals does. */
int readings_of_https(struct process *process, struct failure *failure);

/* Reads the files again and gives them to the workers. If a file is wrong, batond logs it and
 * keeps the last good reading. */
void readings_again(struct process *process);

#endif
