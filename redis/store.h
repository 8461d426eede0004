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
#include "redis/types/script_call.h"
#include "redis/types/value.h"

#include <uv.h>

/* A store belongs to one loop and is used on its thread alone. It keeps one pipelined connection to
 * each Redis server that it needs, connects again by itself after a growing, jittered pause (50 ms
 * up to 1 s), and loads the library of functions where Redis does not have it. */
struct store;

/* A store has shards: the independent primaries behind it, each with a connection of its own.
 * Behind redis://, unix:// and redis+sentinel:// there is one shard. One shard at a time serves a
 * name; only in a Cluster another shard may serve the name later. Shards are numbered from 0. A
 * shard keeps its number for the life of the store; a shard that is gone for good is down.
 *
 * Behind redis+quorum:// each shard is a member, and every member serves all names, so one member's
 * answer (store_eval) decides nothing. A quorum does not confirm, track or mark. */

/* Starts connecting; `up` or `down` reports the result. `url` is copied. Returns 0; or a negative
 * errno if its files for TLS cannot be read. */
int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events);

/* Ends every open call (STORE_IN_DOUBT if it was sent), runs their callbacks, closes the handles,
 * frees the store and then calls `closed` once, if it is not NULL, from the loop. Any callback may
 * call this. A lookup of a host name delays the end until the resolver answers. Takes NULL: then
 * `closed` is not called. */
void store_close(struct store *store, void (*closed)(void *context), void *context);

/* Whether store_close was called. From then on the shards end one by one; ask them nothing. */
bool store_is_closing(const struct store *store);

/* Runs a script. Copies the key and the arguments. The key routes the call: only the store decides
 * which Redis serves a name. `done` runs once, from the loop and never before store_eval has
 * returned. Redis executes calls in the order in which they are made, also if it does not have the
 * function and gets it only then (redis/node/loader.h); but a call that goes again because Redis is
 * full (when_full) runs after the calls that were already sent. */
void store_eval(struct store *store, const struct script_call *call);

/* How many shards there have been so far. The number may grow. */
unsigned store_shard_count(const struct store *store);

/* The shard that serves the key now. It may be down. No shard has the number that a Cluster returns
 * while nobody serves the key's slot. */
unsigned store_shard(const struct store *store, struct slice key);

/* Whether the shard serves any keys at all now. */
bool store_shard_serves(const struct store *store, unsigned shard);

/* Visits all keys, shard by shard: finds the first shard that serves any key, from `*position` on
 * (0 at first; after a shard, its position plus 1), and sets both. Returns false if there is none.
 * Positions mean the same to every store of the same Redis, though its shards have other numbers.
 * If keys move from one shard to another meanwhile, a visit may miss them. */
bool store_seek_shard(const struct store *store, unsigned *position, unsigned *ret_shard);

/* Writes a text that, in the braces of a key, makes this shard serve the key: for keys that concern
 * the shard itself. The text is "" if every shard would. The next call may write another one. */
void store_tag(struct store *store, unsigned shard, char tag[STORE_TAG_SIZE]);

/* As store_tag, but the same text each time and in every process, as long as the shard serves it.
 */
void store_first_tag(const struct store *store, unsigned shard, char tag[STORE_TAG_SIZE]);

/* As store_eval, for a script that concerns a shard as a whole, such as one that SCANs. It runs at
 * `shard`, whichever shard serves the key; STORE_UNSENT if the shard is down. In a Cluster the
 * script gets no key, so that Redis does not check the slot; and the script sees the keys of a slot
 * that has moved here in part. */
void store_eval_at(struct store *store, unsigned shard, const struct script_call *call);

/* Closes or opens the gate of a shard; the gate of a new connection is open. While the gate is
 * closed, the shard counts as down, and only store_eval_first passes. So `up` can ask Redis
 * something before the shard is used. If the key is absent, the script gets none. */
void store_close_gate(struct store *store, unsigned shard);
void store_open_gate(struct store *store, unsigned shard);
void store_eval_first(struct store *store, unsigned shard, const struct script_call *call);

/* Deletes a library of functions there, if it exists and the shard is up. `warning` reports a
 * refusal of Redis. */
void store_delete_library(struct store *store, unsigned shard, struct slice name);

/* Valid until the loop goes on. */
const char *store_shard_place(const struct store *store, unsigned shard);       /* as store_place */
const struct store_peer *store_peer(const struct store *store, unsigned shard); /* never NULL */

/* Subscribes to `channel` on a connection of its own, and again after each loss; `listening`
 * reports it. Call this once, from the loop's thread, before anything is published there. A PING
 * every second proves that the connection is alive. */
void store_listen(struct store *store, struct slice channel);

/* From now on `invalidated` reports every change to a key that begins with `prefix`, by any client
 * (CLIENT TRACKING in broadcast mode, so Redis does the work only while it is asked to). After a
 * loss of either connection the store sets it up again; then `invalidated` has no key. */
void store_track(struct store *store, struct slice prefix);
void store_untrack(struct store *store);

/* The mark of the last answer. Take it while its `done` runs, with STORE_REPLIED or STORE_LATE. */
struct store_mark store_mark(const struct store *store);

/* The mark of that shard's last answer, also if it was LATE. */
struct store_mark store_mark_at(const struct store *store, unsigned shard);

/* Call this once, before store_confirm. The store writes the markers for replicas to `key`, copied.
 * If `replicas` > 0, the store expects this number of replicas from now on: it makes the connection
 * for that now, and `warning` reports if Redis is not set up for it. */
void store_expect_replicas(struct store *store, struct slice key, int replicas);

/* Finds out whether at least `replicas` replicas of Redis (1 to STORE_REPLICAS_MOST) have all that
 * Redis had answered by `mark`. The connection of the mark must still be the same. It may take
 * `timeout_ms` from when the script was sent. A replica that confirms has received and applied it,
 * but may not have it on disk yet. `done` runs once, from the loop and never before this has
 * returned. See redis/node/confirmer.h. */
void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context);

/* From now on the store does not use a primary for longer than store_primary_lease_ms after most of
 * the sentinels (in a Cluster: of its primaries) last named it, even if they name no other. Call
 * this right after store_open. It changes nothing if no other server can be asked. */
void store_require_primary_lease(struct store *store);

/* How long the primary before this one may have served other clients after the switch, in ms; 0 if
 * no primary lease is required. A wait for the end of that primary's grants takes this much
 * longer. */
int64_t store_primary_lease_ms(const struct store *store);

/* How long Redis has to reply: `timeout_ms` of the URL. */
unsigned store_timeout_ms(const struct store *store);

/* Whether every name can be asked for: all shards that serve any name have a connection; in a
 * quorum, more than half have one. */
bool store_is_up(const struct store *store);
bool store_shard_is_up(const struct store *store, unsigned shard);

/* Why the store is down, for people; "" while it is up. Valid until the loop goes on. */
const char *store_trouble(const struct store *store);

/* For people: the server that is used or was last tried, as "Redis at redis://host:6379/0". Valid
 * until the loop goes on. */
const char *store_place(const struct store *store);

/* For people: what redis-url does not say: the primary that the sentinels name, how many shards of
 * a Cluster are up, or which members of a quorum are away; else "". */
const char *store_primary(const struct store *store);

struct store_figures store_figures(const struct store *store);

/* Checks Redis before anything starts. Blocks for at most `timeout_ms`, or longer if a resolver
 * does not answer. Connects, logs in and checks the version (Redis 7.0 or Valkey 7.2, or newer).
 * Returns 0; -EAGAIN if Redis cannot be reached or is still loading (a service may start and wait
 * for it); -EPROTO, with a failure that says how to mend it, if waiting would not help: a wrong
 * password, no such database, a version too old, a primary that no sentinel knows. Of a Cluster, no
 * node can be used then; of a quorum, no majority. With 0 the failure may have the text of a
 * warning; the store that serves later reports it, too. */
int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
