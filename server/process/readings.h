/* readings.h: reads the tokens-file and the files of TLS, at the start and again on SIGHUP. */
#ifndef BATON_SERVER_PROCESS_READINGS_H
#define BATON_SERVER_PROCESS_READINGS_H

#include "server/process/process.h"

/* Sets the principals by the tokens-file, or without one by the other settings. Returns 0 or a
 * negative errno with a failure that says how to mend it. */
int readings_of_principals(struct process *process, struct failure *failure);

/* Reads the certificate, its key and the authority of client certificates; nothing without a
 * tls-cert. Returns as above. */
int readings_of_https(struct process *process, struct failure *failure);

/* Reads the files again and gives them to the workers. If a file is wrong, this logs it, and the
 * last good reading stays in force. */
void readings_again(struct process *process);

#endif
