/* prepare.h: the steps of a start before the workers. */
#ifndef BATON_SERVER_PROCESS_PREPARE_H
#define BATON_SERVER_PROCESS_PREPARE_H

#include "server/process/process.h"

/* Call this first. Decides how many workers there are, and raises the limit of open files as far as
 * it goes. Returns 0, or -EINVAL if that is too low to serve. */
int prepare_files(struct process *process, struct failure *failure);

/* Sets up the listeners, the number of connections, the principals and HTTPS, and
 * finds Redis or starts one. Returns 0 or a negative errno, with a failure that names the setting
 * and says how to mend it. Wipes the secrets in the settings. */
int prepare(struct process *process, struct failure *failure);

/* Reads the address of Redis and the credentials for it, without a connection. Without a redis-url
 * it zeroes *ret and refuses the settings that need one. Returns as prepare does. The caller frees
 * *ret in any case. */
int prepare_redis_url(const struct settings *settings, struct redis_url *ret,
                      struct failure *failure);

#endif
