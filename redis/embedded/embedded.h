/* embedded.h: a private redis-server, started for one batond and ended with it. */
#ifndef BATON_REDIS_EMBEDDED_EMBEDDED_H
#define BATON_REDIS_EMBEDDED_EMBEDDED_H

#include "base/failure.h"

#include <stdbool.h>
#include <sys/types.h>

enum { EMBEDDED_PATIENCE_MS = 3000 }; /* that a state directory in use is waited for, at most */

/* Used by the main thread alone: the kernel ends the child when the thread that started it ends. */
struct embedded;

/* Opens `state_dir` (state_directory.h), locks it against a second batond, starts redis-server
 * on a Unix socket in it (no TCP, append-only file with fsync always, no snapshots, noeviction)
 * and waits until it answers, at most 30 s. redis-server writes its log to STATE_DIR/redis.log.
 *
 * The child ends with this process, SIGKILL included. The lock is inherited by the child, so that
 * an old redis-server, which is on its way out, is really gone before a new one starts: `waits` for
 * that, or else be refused at once.
 *
 * Returns 0, or a negative errno with a failure that names the way out: -EBUSY for a directory in
 * use (with the holder's process id), -ENOENT where there is no redis-server in PATH,
 * -ENAMETOOLONG where the socket's path would not fit, and so on. */
int embedded_start(struct embedded **ret, const char *state_dir, bool waits,
                   struct failure *failure);

/* The URL to reach it by (unix:///…). Owned by the embedded server. */
const char *embedded_url(const struct embedded *embedded);

/* To be called on SIGCHLD: true if redis-server has ended by itself. It is reaped then, and
 * told once. */
bool embedded_has_ended(struct embedded *embedded);

/* Of the last end: why, as far as it is known, and how long to wait before embedded_restart. The
 * pause is longer each time that redis-server ends soon after its start: a full disk stays full for
 * a while. */
const char *embedded_why(const struct embedded *embedded);
int embedded_pause_ms(const struct embedded *embedded);

/* From now on redis-server is started again by a small process that is made here: for a process
 * that is about to give up starting any. To be called once. Returns 0 or a negative errno. */
int embedded_keep_starter(struct embedded *embedded, struct failure *failure);

/* Starts redis-server again after it has ended by itself. Does not wait for it to answer. */
int embedded_restart(struct embedded *embedded, struct failure *failure);

/* Ends redis-server (SIGTERM, after 5 s SIGKILL), waits for it, unlocks the directory. Takes NULL.
 */
void embedded_stop(struct embedded *embedded);

#endif
