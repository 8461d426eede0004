/* prepare.h: what has to be there before anybody is served. */
#ifndef BATON_SERVER_PROCESS_PREPARE_H
#define BATON_SERVER_PROCESS_PREPARE_H

#include "server/process/process.h"

/* Settles by the settings where to listen, how many workers and connections there are, who may ask,
 * what TLS clients are shown, and finds Redis or starts one. Returns 0 or a negative errno, with a
 * failure that names the setting and says how to mend it. Of the secrets in the settings no copy is
 * left afterwards. */
int prepare(struct process *process, struct failure *failure);

/* Reads where Redis is and how to get in, without asking it; with no redis-url, *ret is zeroed, and
 * what would be for one is refused. Returns as prepare does. *ret is to be freed in any case. */
int prepare_redis_url(const struct settings *settings, struct redis_url *ret,
                      struct failure *failure);

#endif
