/* store.h: runs a script for a name in Redis, and says how sure its outcome is. */
#ifndef BATON_REDIS_STORE_H
#define BATON_REDIS_STORE_H

#include "base/failure.h"
#include "base/slice.h"
#include "redis/address/url.h"
#include "redis/types/confirm.h"
#include "redis/types/events.h"
#include "redis/types/peer.h"
#include "redis/types/result.h"
#include "redis/types/script.h"
#include "redis/types/transport.h"
#include "redis/types/value.h"

#include <uv.h>

/* A store belongs to one loop and is used on its thread alone. It keeps one pipelined connection
 * to Redis (with redis+sentinel://: to what the sentinels call the primary), connects again by
 * itself with a growing, jittered pause (50 ms up to 1 s), and loads a script again where Redis has
 * forgotten it. */
struct store;

/* A store has parts: the independent primaries behind it, each with a connection of its own. Behind
 * redis://, unix:// and redis+sentinel:// there is one; each name is served by one part at a time,
 * and only an engine that has several may have another one serve it later. Parts are numbered from
 * 0; a part keeps its number for the life of the store, and one that is gone for good is down.
 *
 * Behind redis+quorum:// each part is a member, and every member serves all names: who asks only
 * one of them (store_eval) asks the wrong question. Confirming, tracking and marks are not for a
 * quorum. */

/* Starts connecting; `up` or `down` will tell. `url` is copied. With rediss:// the process has to
 * ignore SIGPIPE. Returns 0 or a negative errno. */
int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events);

/* From the loop: ends every open call (STORE_IN_DOUBT where it was sent), runs their callbacks,
 * closes the handles and calls `closed` once, if it is not NULL; the store is freed by then. May be
 * called from any callback. A host name being looked up delays it by what the resolver takes.
 * Takes NULL: then `closed` is not called. */
void store_close(struct store *store, void (*closed)(void *context), void *context);

/* Whether that was called: its parts end one by one, and none may be asked anything any more. */
bool store_is_closing(const struct store *store);

/* Runs `script` with KEYS[1] = `key` and the given ARGV, all copied. The key routes the call: this
 * is the one place that decides which Redis serves a name. `done` runs once, from the loop and
 * never before store_eval has returned. Calls are executed in the order in which they are made;
 * only a script that Redis forgets meanwhile (SCRIPT FLUSH) runs behind those already sent. */
void store_eval(struct store *store, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context);

/* How many parts there have been so far. May grow. */
unsigned store_part_count(const struct store *store);

/* The part that serves the key now: it may be down. */
unsigned store_part(const struct store *store, struct slice key);

/* Whether the part serves any keys at all now. */
bool store_part_serves(const struct store *store, unsigned part);

/* For what looks at all keys, part by part: finds the first that serves any, from `*position` on (0
 * at first; after a part, its position and 1), and sets both. False where there is none. Positions
 * mean the same to every store of the same Redis, though its parts have other numbers. While keys
 * move from one part to another, what is looked at may have moved to one that was looked at before.
 */
bool store_seek_part(const struct store *store, unsigned *position, unsigned *ret_part);

/* Writes a text that, in the braces of a key, has this part serve it, for keys that concern the
 * part itself: "" where every part would. The next one may be another. */
void store_tag(struct store *store, unsigned part, char tag[STORE_TAG_SIZE]);

/* The same one each time, and for everybody, for as long as the part serves it. */
void store_first_tag(const struct store *store, unsigned part, char tag[STORE_TAG_SIZE]);

/* As store_eval for what concerns a part as a whole, such as a script that SCANs: it runs there,
 * wherever `key` is served. UNSENT where the part is down. In a Cluster the script gets no key, so
 * that Redis does not ask which slot it is in, and sees what has come there of a slot that is on
 * its way. */
void store_eval_at(struct store *store, unsigned part, const struct script *script,
                   struct slice key, const struct slice *arguments, size_t argument_count,
                   store_done *done, void *context);

/* Closes the gate of a part, or opens it; that of a new connection is open. While it is closed the
 * part counts as down, and only store_eval_first passes: for who has to ask Redis something before
 * it may be used, from within `up`. Where `key` is absent, the script gets none. */
void store_close_gate(struct store *store, unsigned part);
void store_open_gate(struct store *store, unsigned part);
void store_eval_first(struct store *store, unsigned part, const struct script *script,
                      struct slice key, const struct slice *arguments, size_t argument_count,
                      store_done *done, void *context);

/* Gives up the connection of a store of one server, for this reason, and makes another one after a
 * pause. */
void store_retire(struct store *store, const char *reason);

/* Valid until the loop goes on. */
const char *store_part_place(const struct store *store, unsigned part); /* as store_place */
const struct store_peer *store_peer(const struct store *store, unsigned part);

/* Subscribes to `channel` on a connection of its own, and again whenever that was lost; `listening`
 * tells. To be called once, from the thread of the loop, before anything is published there. The
 * connection proves itself alive by a PING every second. Returns 0 or -ENOMEM. */
int store_listen(struct store *store, struct slice channel);

/* From now on `touched` tells of every change to a key that begins with `prefix`, whoever makes it
 * (CLIENT TRACKING in broadcast mode, so Redis does the work only while somebody asks for it).
 * After a loss of either connection it is set up again, and then `touched` tells without a key. */
void store_track(struct store *store, struct slice prefix);
void store_untrack(struct store *store);

/* That of the last answer: to be taken while its `done` runs, with STORE_REPLIED or _LATE. */
struct store_mark store_mark(const struct store *store);

/* The same of that part's last answer, also where that was LATE. */
struct store_mark store_mark_at(const struct store *store, unsigned part);

/* To be called once, before store_confirm. The markers that replicas are asked for are written to
 * `key`, copied. With `replicas` > 0, as many are expected to be there from now on: the connection
 * for that is made now, and `warning` tells where Redis is not set up for it. */
void store_expect_replicas(struct store *store, struct slice key, int replicas);

/* Finds out whether so many replicas of Redis (1 to STORE_REPLICAS_MOST) have what it had answered
 * by `mark`, of which the connection must still be the same. It may take `timeout_ms` from when the
 * script was sent. Replicas have received it then, and applied; whether they have written it to
 * disk, nobody knows. `done` runs once, from the loop and never before this has returned. See
 * redis/replicas/confirmer.h. */
void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context);

/* From now on a primary that most of the sentinels, or of a Cluster's primaries, do not name any
 * more is not used for longer than store_primary_lease_ms, even if none of them names another. To
 * be called right after store_open; changes nothing where nobody else can be asked. */
void store_require_primary_lease(struct store *store);

/* How long the primary before this one may have gone on serving others after the switch, in ms: 0
 * where no primary lease is required. What waits for the end of what that one granted has to wait
 * so much longer. */
int64_t store_primary_lease_ms(const struct store *store);

/* Whether every name can be asked for: all parts that serve any have a connection, or of a quorum
 * more than half. */
bool store_is_up(const struct store *store);
bool store_part_is_up(const struct store *store, unsigned part);

/* The part whose event is being told: for `listening` and `message`, which do not say. */
unsigned store_telling(const struct store *store);

/* Why the store is down, for people; "" while it is up. Valid until the loop goes on. */
const char *store_trouble(const struct store *store);

/* The server that is used, or was last tried, for people: "Redis at redis://host:6379/0". Valid
 * until the loop goes on. */
const char *store_place(const struct store *store);

/* The same where it is the sentinels that name it, and of a quorum who is away; "" where redis-url
 * names the server. */
const char *store_primary(const struct store *store);

struct store_figures store_figures(const struct store *store);

/* A look at Redis before anything starts, blocking for at most `timeout_ms` (only a resolver that
 * does not answer can take longer): connects, logs in and checks the version (6.2 or newer).
 * Returns 0; -EAGAIN where Redis cannot be reached or is still loading (a service may start and
 * wait for it); -EPROTO, with a failure that says how to mend it, where waiting would not help:
 * wrong password, no such database, a version too old, a primary that no sentinel knows. What only
 * deserves a warning is left to the event of those who serve. */
int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
