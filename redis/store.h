/* store.h: runs a script for a name in Redis, and says how sure its outcome is. */
#ifndef BATON_REDIS_STORE_H
#define BATON_REDIS_STORE_H

#include "base/failure.h"
#include "base/slice.h"
#include "redis/script.h"
#include "redis/url.h"
#include "redis/value.h"

#include <uv.h>

/* A store belongs to one loop and is used on its thread alone. It keeps one pipelined connection
 * to Redis (with redis+sentinel://: to what the sentinels call the primary), connects again by
 * itself with a growing, jittered pause (50 ms up to 1 s), and loads a script again where Redis has
 * forgotten it. */
struct store;

enum {
    /* A command without a reply for this long, to it or to those before it, counts as lost: its
     * connection is given up, and every call on it ends. Short enough for "503 within a second". */
    STORE_DEADLINE_MS = 800,
    STORE_REPLICAS_MOST = 8, /* that can be asked to confirm */
};

enum store_outcome {
    STORE_REPLIED,  /* the script ran to its end: `reply` is what it returned */
    STORE_REFUSED,  /* Redis answered with an error and changed nothing: `error` is its text */
    STORE_UNSENT,   /* there was no usable connection: nothing happened */
    STORE_IN_DOUBT, /* the connection was lost before the reply, or the script failed in a way that
                     * may have come after a write: it may have run or not */
};

struct store_result {
    enum store_outcome outcome;
    const struct value *reply; /* with STORE_REPLIED, else NULL; valid during the callback */
    const char *error;         /* a line for a log, else NULL; valid during the callback */
};

typedef void store_done(void *context, const struct store_result *result);

/* What the store tells whoever opened it, always from the loop and never from inside a call to the
 * store. Each may be NULL. */
struct store_events {
    void *context;
    /* A connection is usable. What is called from in here reaches Redis before anything else. */
    void (*up)(void *context);
    /* The connection was lost or could not be made; `reason` says why and what to look at. Told
     * once for each loss and, while Redis stays away, again only when the reason changes. */
    void (*down)(void *context, const char *reason);
    /* Redis is usable but set up in a way that can lose locks (eviction, a replica, …), told after
     * each connect; or it answers scripts with errors, told every 10 s at most. */
    void (*warning)(void *context, const char *text);
    /* The inbox (store_listen) is subscribed, for the first time or again after a loss: whatever
     * was published to it before may have been missed. */
    void (*listening)(void *context);
    /* A message came in the inbox. Valid during the call. */
    void (*message)(void *context, struct slice text);
    /* A key that store_track asked about has changed; without bytes: any of them may have. */
    void (*touched)(void *context, struct slice key);
    /* A script has run, and replied so long after it was given to store_eval. */
    void (*answered)(void *context, uint64_t nanoseconds);
    /* What store_confirm asked has been found out, so long after its script was sent. */
    void (*confirmed)(void *context, uint64_t nanoseconds, bool is_confirmed);
};

struct store_figures {
    uint64_t calls;    /* scripts sent to Redis */
    uint64_t connects; /* connections that became usable */
    uint64_t switches; /* those of them to another server than the one before */
};

/* Starts connecting; `up` or `down` will tell. `url` is copied. With rediss:// the process has to
 * ignore SIGPIPE. Returns 0 or a negative errno. */
int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events);

/* From the loop: ends every open call (STORE_IN_DOUBT where it was sent), runs their callbacks,
 * closes the handles and calls `closed` once, if it is not NULL; the store is freed by then. May be
 * called from any callback. A host name being looked up delays it by what the resolver takes.
 * Takes NULL: then `closed` is not called. */
void store_close(struct store *store, void (*closed)(void *context), void *context);

/* Runs `script` with KEYS[1] = `key` and the given ARGV, all copied. The key routes the call: this
 * is the one place that decides which Redis serves a name. `done` runs once, from the loop and
 * never before store_eval has returned. Calls are executed in the order in which they are made;
 * only a script that Redis forgets meanwhile (SCRIPT FLUSH) runs behind those already sent. */
void store_eval(struct store *store, const struct script *script, struct slice key,
                const struct slice *arguments, size_t argument_count, store_done *done,
                void *context);

/* Subscribes to `channel` on a connection of its own, and again whenever that was lost; `listening`
 * tells. To be called once, from the thread of the loop, before anything is published there. The
 * connection proves itself alive by a PING every second. Returns 0 or -ENOMEM. */
int store_listen(struct store *store, struct slice channel);

/* From now on `touched` tells of every change to a key that begins with `prefix`, whoever makes it
 * (CLIENT TRACKING in broadcast mode, so Redis does the work only while somebody asks for it).
 * After a loss of either connection it is set up again, and then `touched` tells without a key. */
void store_track(struct store *store, struct slice prefix);
void store_untrack(struct store *store);

/* Where an answer of Redis stands among all: which connection it came by, and when its script was
 * sent (uv_hrtime). */
struct store_mark {
    uint64_t connection; /* 0: none */
    uint64_t sent;
};

/* That of the last answer: to be taken while its `done` runs, with STORE_REPLIED. */
struct store_mark store_mark(const struct store *store);

/* `error` is NULL where enough replicas have it, else says why not or why that is not known, for
 * clients; valid during the callback. */
typedef void store_confirmed(void *context, const char *error);

/* To be called once, before store_confirm. The markers that replicas are asked for are written to
 * `key`, copied. With `replicas` > 0, as many are expected to be there from now on: the connection
 * for that is made now, and `warning` tells where Redis is not set up for it. */
void store_expect_replicas(struct store *store, struct slice key, int replicas);

/* Finds out whether so many replicas of Redis (1 to STORE_REPLICAS_MOST) have what it had answered
 * by `mark`, of which the connection must still be the same. It may take `timeout_ms` from when the
 * script was sent. Replicas have received it then, and applied; whether they have written it to
 * disk, nobody knows. `done` runs once, from the loop and never before this has returned. See
 * redis/confirmer.h. */
void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context);

bool store_is_up(const struct store *store);

/* Why the store is down, for people; "" while it is up. Valid until the loop goes on. */
const char *store_trouble(const struct store *store);

/* The server that is used, or was last tried, for people: "Redis at redis://host:6379/0". Valid
 * until the loop goes on. */
const char *store_place(const struct store *store);

/* The same where it is the sentinels that name it; "" where redis-url does. */
const char *store_primary(const struct store *store);

struct store_figures store_figures(const struct store *store);

/* A look at Redis before anything starts, blocking for at most `timeout_ms` (only a resolver that
 * does not answer can take longer): connects, logs in and checks the version (6.2 or newer).
 * Returns 0; -EAGAIN where Redis cannot be reached or is still loading (a service may start and
 * wait for it); -EPROTO, with a failure that says how to mend it, where waiting would not help:
 * wrong password, no such database, a version too old, a primary that no sentinel knows. Where
 * Redis may evict keys, 0 is returned and `warning` is filled; otherwise it is made empty. */
int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *warning,
                    struct failure *failure);

#endif
