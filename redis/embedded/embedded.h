/* embedded.h: starts a private redis-server for one batond and ends it with that batond. */
#ifndef BATON_REDIS_EMBEDDED_EMBEDDED_H
#define BATON_REDIS_EMBEDDED_EMBEDDED_H

#include "base/failure.h"

#include <stdbool.h>
#include <sys/types.h>

enum { EMBEDDED_PATIENCE_MS = 3000 }; /* the longest wait for a state directory in use */

/* Use it on the main thread only: the kernel ends the child when the thread that started it
 * ends. */
struct embedded;

/* Opens `state_dir` (state_directory.h), locks it against a second batond, starts redis-server
 * on a Unix socket in it (no TCP, append-only file with fsync always, no snapshots, noeviction),
 * and waits up to 30 s for an answer. redis-server writes its log to STATE_DIR/redis.log.
 *
 * The child ends with this process, also after SIGKILL. The child inherits the lock, so a new
 * redis-server starts only after the old one is gone. With `waits` this waits for the lock, up to
 * EMBEDDED_PATIENCE_MS; otherwise it refuses at once.
 *
 * Returns 0, or a negative errno with a failure that says what to do: -EBUSY for a directory
 * in use (with the holder's process id), -ENOENT if PATH has no redis-server, -ENAMETOOLONG if
 * the socket's path is too long, or another errno. */
int embedded_start(struct embedded **ret, const char *state_dir, bool waits,
                   struct failure *failure);

/* The URL of the server (unix:///…). The embedded server owns it. */
const char *embedded_url(const struct embedded *embedded);

/* The state directory, if this start has taken it away from a group that could write in it; or
 * NULL.
 */
const char *embedded_closed(const struct embedded *embedded);

/* Call this on SIGCHLD. Returns true, once, if redis-server has ended by itself, and reaps it. */
bool embedded_has_ended(struct embedded *embedded);

/* Why redis-server last ended, as far as batond knows, and how long to wait before
 * embedded_restart, in ms. The pause grows each time redis-server ends soon after its start: a full
 * disk stays full for a while. */
const char *embedded_why(const struct embedded *embedded);
int embedded_pause_ms(const struct embedded *embedded);

/* From now on a small helper process starts redis-server again, because batond is about to lose the
 * right to start programs. Call this once. Returns 0 or a negative errno. */
int embedded_keep_starter(struct embedded *embedded, struct failure *failure);

/* Starts redis-server again after it has ended by itself. Does not wait for it to answer. */
int embedded_restart(struct embedded *embedded, struct failure *failure);

/* Ends redis-server (SIGTERM, after 5 s SIGKILL), waits for it, unlocks the directory. Takes NULL.
 */
void embedded_stop(struct embedded *embedded);

#endif
