/* locks.h: the operations on locks. Each calls back once. With one Redis, Sentinel or a Cluster
 * most operations are one script; a quorum and requests for several names take some rounds of
 * scripts. */
#ifndef BATON_LOCKS_LOCKS_H
#define BATON_LOCKS_LOCKS_H

#include "locks/quarantine/quarantine.h"
#include "locks/types/name.h"
#include "locks/types/owner.h"
#include "locks/types/token.h"
#include "redis/store.h"

/* The locks of one worker. Use it on the thread of its store's loop alone. It keeps no lock in
 * memory, only the requests under way. */
struct locks;

enum {
    LOCK_META_LENGTH = 1024, /* bytes of JSON, at most */
    LOCK_LIMIT_HIGHEST = 1000000,
    LOCK_HOLDERS_SHOWN = 10,
    LOCK_WAITERS_SHOWN = 10,
    LOCK_WAITERS_MOST = 200,        /* at most, on request */
    LOCK_ATTEMPT_LENGTH = 33,       /* characters, at most */
    LOCK_CLIENT_LENGTH = 45,        /* characters of an address, at most */
    LOCK_REASON_LENGTH = 256,       /* bytes, at most */
    LOCKS_COUNT_CURSOR_LENGTH = 32, /* characters, at most */
    LOCKS_LIST_LONGEST = 1000,      /* locks in a page, at most */
    LOCKS_SEVERAL_MOST = 64,        /* names acquired together, at most */
};

enum lock_mode { LOCK_EXCLUSIVE, LOCK_SHARED };

/* Identifies one acquire request among all that use its token. */
struct attempt {
    char text[LOCK_ATTEMPT_LENGTH + 1];
};

/* A request for a lock. The call copies the texts before it returns. */
struct acquire {
    struct slice name;
    struct slice token;
    bool token_is_new;  /* this worker has made it for this request: no earlier one has used it */
    struct slice owner; /* as owner_compose writes it, like every owner here */
    bool owner_is_made; /* the client gave none: the owner of a repeat may differ, and no request
                         * re-enters its hold */
    bool is_reentrant;  /* the holds of this owner let it in */
    enum lock_mode mode;
    int64_t limit;   /* 0: none; only with LOCK_SHARED */
    int64_t permits; /* for how many it counts by the limits; 0 or 1: one */
    int64_t ttl_ms;  /* of the hold */
    int64_t
        at_least_ms; /* from the grant, for which the name stays taken, released or not; 0: none */
    int64_t max_held_ms; /* from the grant, beyond which no renewal carries the hold; 0: none */
    struct slice meta;   /* a JSON object as text, or absent */
    struct slice client; /* its address, or absent; LOCK_CLIENT_LENGTH at most */
    int64_t wait_ms;     /* for locks_wait: the longest wait */
    int64_t keep_ms;     /* for locks_wait: how long the queue keeps its place without a request */
    int64_t replicas;    /* of Redis that must have the hold before the client is told; 0: none */
    bool of_connection;  /* the hold ends with the connection: see locks_release_connection */
    int64_t set;         /* set by locks_acquire_several: equal for equal sets of names; else 0 */
};

/* A hold, for its owner. */
struct hold {
    int64_t fence;
    int64_t ttl_ms; /* what remains */
    int64_t holds;  /* of this owner, now */
    int64_t version;
    struct slice owner;
    enum lock_mode mode;
    int64_t limit;   /* 0: none */
    int64_t permits; /* 0 or 1: one */
    int64_t
        at_least_ms; /* what is left of it: so long the name stays taken, if it is released now */
    int64_t max_held_ms; /* what is left of it; 0: it has none */
    bool is_final;       /* it ends with its max_held: no renewal makes it longer */
};

/* A hold, for others. */
struct holder {
    struct slice owner;
    enum lock_mode mode;
    int64_t fence;
    int64_t ttl_ms;
    int64_t held_ms;
    int64_t since_us;    /* when it was granted, by the clock of Redis, since 1970 */
    struct slice client; /* empty: not known */
    struct slice meta;   /* empty: none was given */
    bool released;       /* by its owner: it only keeps the name taken for `ttl_ms` */
    int64_t at_least_ms; /* this and the next two: as of struct hold */
    int64_t max_held_ms;
    int64_t permits;
};

/* A waiter, for others. */
struct waiter_view {
    struct slice owner;
    enum lock_mode mode;
    int64_t waited_ms;
    int64_t since_us;    /* in a quorum by the clock of this batond */
    struct slice client; /* empty: not known */
};

/* Who breaks holds, from where and why. Each text is clean, and may be empty. */
struct breaker {
    struct slice principal; /* OWNER_REALM_LENGTH bytes at most */
    struct slice client;    /* the address; LOCK_CLIENT_LENGTH at most */
    struct slice reason;    /* LOCK_REASON_LENGTH at most */
};

/* How a hold has ended. */
struct hold_end {
    int64_t fence;       /* 0: nothing is known */
    struct slice reason; /* "released", "expired" or "forced" */
    int64_t ago_ms;
    struct slice owner;     /* empty: not known */
    struct breaker breaker; /* if it was broken */
};

/* The state of a name, for anybody. */
struct lock_view {
    int64_t version;
    int64_t hold_count;
    int64_t extra_permits; /* of all holds, beyond one for each */
    int64_t limit;         /* of the newest shared hold; 0: none */
    int64_t queue_length;
    bool mine;         /* the token of the request has a hold, */
    int64_t position;  /* or waits, at this place in the queue, from 1; 0: it does not */
    bool is_other_set; /* LOCKS_TOKEN_IN_USE: the token was used for other names, */
    int reentry; /* and it waits to re-enter, if this is 1, or not to, if -1, as asked before */
    int64_t opens_ms; /* LOCKS_QUARANTINED: until it may be granted, as far as Redis knows, */
    enum quarantine_reason opens_reason; /* and why not before */
    struct hold_end last_release;
    struct holder holders[LOCK_HOLDERS_SHOWN]; /* the one that ends soonest first */
    size_t holder_count;                       /* of those shown */
    /* In the order of their turns; waiters that are passed over now come last. Set if a lock is
     * inspected, watched or listed, not if a request is refused. */
    struct waiter_view waiters[LOCK_WAITERS_SHOWN];
    size_t waiter_count;             /* of those shown */
    const struct value *all_waiters; /* set if more were asked for, and exist: for locks_waiter */
};

/* The end of a hold by its owner. */
struct release {
    int64_t fence;
    int64_t held_ms;
    int64_t holds; /* that the owner still has */
    int64_t version;
    int64_t free_in_ms; /* the name stays taken for so long, by the hold's at_least */
    struct slice owner; /* not set if `repeated` */
    bool repeated;      /* the client has sent this release before */
    bool cancelled;     /* the token was waiting and has left the queue; nothing else is set */
};

enum locks_result {
    LOCKS_DONE,
    LOCKS_REPEATED,       /* acquire: the token had the hold already */
    LOCKS_LOCKED,         /* acquire: other holds prevent it; `view` tells which */
    LOCKS_TOKEN_RELEASED, /* acquire: this token's hold was released already */
    LOCKS_TOKEN_IN_USE,   /* acquire: the token was used for another request; the first holder and
                           * the limit of `view` tell for what */
    LOCKS_NOT_HELD,       /* renew, release: the token has no live hold; if the last end of the name
                           * was that of its hold, `view.last_release` tells it */
    LOCKS_MAX_HELD,       /* renew: the hold cannot get longer; `hold` is as it was */
    LOCKS_TIMEOUT,        /* waiting: the wait has ended; `view` tells the holders */
    LOCKS_CANCELLED,      /* waiting: a release with its token has ended it */
    LOCKS_SUPERSEDED,     /* waiting: a later request with the same token has taken its place */
    LOCKS_DRAINING,       /* waiting: this worker stops; the queue keeps the place */
    LOCKS_TOO_MANY_WAITERS, /* waiting: the queue is full; `view.queue_length` tells */
    LOCKS_UPGRADE_CONFLICT, /* acquire: another owner waits already to upgrade its hold */
    LOCKS_UNCONFIRMED,      /* acquire, renew, ready: too few replicas have it; `error` says more */
    LOCKS_QUARANTINED,      /* acquire, waiting: no grants now; see locks_quarantine */
    LOCKS_DAMAGED,          /* what Redis keeps of the name cannot be read; `error` says more */
    LOCKS_UNAVAILABLE,      /* Redis cannot be asked, or its answer was lost; `error` says more */
};

enum { LOCKS_RESULTS = LOCKS_UNAVAILABLE + 1 }; /* it is the last */

/* The answer to any operation. Only the members that the operation's comment names are set. Valid
 * during the callback. */
struct locks_reply {
    enum locks_result result;
    const char *error;
    struct attempt attempt;
    struct hold hold;
    int64_t confirmed_ms; /* how long the replicas took; `ttl_ms` is less by that */
    struct lock_view view;
    bool changed; /* watching: the version has passed the one asked about */
    struct release release;
    uint64_t notified_at; /* waiting: when a message brought news of the grant, by uv_hrtime; 0:
                           * no message did */
    struct {
        int64_t count; /* holds ended; `view.holders` has the first of them */
        int64_t version;
        bool cleared; /* `count` is unknown: the record could not be read */
    } broken;
};

/* Runs once, from the loop, never before the operation's call has returned. */
typedef void locks_done(void *context, const struct locks_reply *reply);

/* A hold that has expired. */
struct expiry {
    struct slice name;
    int64_t count;      /* 1; or the rest of many that expired at once, and then: */
    int64_t fence;      /* -1 */
    int64_t held_ms;    /* -1 */
    struct slice owner; /* absent */
    enum lock_mode mode;
};

/* Events for the owner of the locks, from the loop. Each may be NULL. */
struct locks_events {
    void *context;
    /* A script of this worker has ended an expired hold: comes once, before that script's answer.
     * Each hold granted or renewed here is checked about half a second after its TTL has ended,
     * even if nobody asks for the name. A hold that no client was told of causes no event. `expiry`
     * is valid during the call, which may not start an operation. */
    void (*expired)(void *context, const struct expiry *expiry);
    /* A quarantine of a shard has begun, has become longer, or has ended. */
    void (*quarantined)(void *context, const struct quarantine *quarantine);
    /* A shard is up, its epoch was read, and it may be used. */
    void (*serving)(void *context, unsigned shard);
    /* Replicas have confirmed a hold, or have not, so long after Redis was asked for it. */
    void (*confirmed)(void *context, uint64_t nanoseconds, bool is_confirmed);
    /* Redis keeps something under this key, of a lock or of Baton's own, that cannot be read;
     * `error` says why. Comes each time. */
    void (*damaged)(void *context, struct slice key, const char *error);
    /* A request with this limit found shared holds of the name by another one. 0: without. */
    void (*limits_differ)(void *context, struct slice name, int64_t limit, int64_t other);
    /* The store's own events, with their own context: each comes after the locks have dealt with
     * it. */
    struct store_events store;
};

struct locks_options {
    uv_loop_t *loop;
    const struct redis_url *redis_url; /* used until locks_open returns */
    struct slice key_prefix;           /* copied */
    int64_t retention_ms;              /* how long a free name is remembered */
    int64_t waiter_lease_ms;  /* how long waiters outlive the last heartbeat of their worker */
    int64_t claim_window_ms;  /* how long a grant that nobody collects blocks the next */
    int64_t library_check_ms; /* how often it looks for libraries of other releases that nobody uses
                               * any more; 0: never */
    int64_t max_waiters;      /* of one name */
    int64_t replicas; /* that are expected: confirming by as many is prepared now; 0: none */
    int64_t confirm_timeout_ms; /* how long it may take, from when Redis was asked for the hold */
    uint32_t process;           /* a random number; those that have the same one die together */
    int64_t quarantine_ms;      /* how long a quarantine is, or QUARANTINE_AUTO, _OFF */
    bool is_embedded;           /* batond's own Redis: it keeps on disk all that it ever answered */
    bool keeps_all;             /* the operator says the same of this Redis */
    struct locks_events events;
};

/* Opens the store behind `redis_url` and the locks in it. This worker joins those that share
 * Redis, with an inbox of its own under a random name. Returns 0 or a negative errno. */
int locks_open(struct locks **ret, const struct locks_options *options);

/* Closes the store, then the locks, and calls `closed` once, if it is not NULL, from the loop. What
 * is under way is answered first: call locks_drain before, so that nothing waits any more. Takes
 * NULL: then `closed` is not called. */
void locks_close(struct locks *locks, void (*closed)(void *context), void *context);

/* The store, to read its nodes and their state. */
const struct store *locks_store(const struct locks *locks);

/* Whether the store has a connection, as far as is known. If a connection breaks, this is false
 * before the operations under way are answered; the store's event `down` comes after their answers.
 */
bool locks_has_store(const struct locks *locks);

/* For how many more milliseconds a quarantine keeps the name from being granted, as far as is
 * known, and why; 0: there is none. Without a name: the longest quarantine of all. */
int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason);

/* For how many more milliseconds a quarantine may refuse any client; 0: none does. In a quorum none
 * does while more than half of the members are out of quarantine. */
int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason);

/* For how many milliseconds nothing would be granted if Redis lost all its data now; 0: no hold is
 * known, or the setting `quarantine` is off. The longest hold of late decides, also if it was
 * released since. */
int64_t locks_pause_after_loss(const struct locks *locks);

/* For each node in quarantine: sets *ret and moves *position on, which is 0 at first.
 * False: there are no more. */
bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret);

/* `ended`: so many nodes have left quarantine. With an `error`, for clients: a
 * quarantine may go on. */
typedef void locks_quarantines_ended(void *context, unsigned ended, const char *error);

/* Ends every known quarantine early, for all that share the Redis: other workers know within a
 * second. A loss that is noticed later begins another one. `done` runs once, from the loop and
 * never before this has returned. Returns false, and does nothing, if no node is known. */
bool locks_end_quarantines(struct locks *locks, locks_quarantines_ended *done, void *context);

/* How many nodes of several (a Cluster, a quorum) are in quarantine; 0 if there is but one. */
unsigned locks_quarantined(const struct locks *locks);

/* How many grants and renewals this worker has not noted, for want of memory: when such a hold
 * expires, `expired` comes only after somebody has asked for its name. */
uint64_t locks_left_out(const struct locks *locks);

/* How often `damaged` has come. */
uint64_t locks_damages(const struct locks *locks);

/* Call this every second or so: tries again to take back grants for which Redis refused it. */
void locks_try_again(struct locks *locks);

/* Whether no grant is in doubt and no client waits or watches. A worker waits for this before it
 * ends. */
bool locks_are_settled(const struct locks *locks);

/* LOCKS_DONE and LOCKS_REPEATED set `hold` and `attempt`. A grant in doubt is LOCKS_UNAVAILABLE: it
 * is taken back as by locks_take_back once Redis can be asked. So is a grant that is
 * LOCKS_UNCONFIRMED. */
void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context);

/* Takes back a hold whose client cannot have learnt of it, because the reply did not arrive. The
 * hold stays for other requests of the token that were told of it, until they take it back, too.
 * With a `keep_ms` the queue keeps its place at the head that long. */
void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms);

/* The client of a request, as long as that is under way. */
struct acquirer {
    void *context;                       /* of `done` as well */
    bool (*is_connected)(void *context); /* whether the client is still there */
    /* The request is in the queue of this name now; several names have one queue after the other.
     * May be NULL. */
    void (*queued)(void *context, struct slice name);
    /* For several names alone: this one is held now, DONE or REPEATED. It is given back if the
     * others cannot be had, or are not confirmed. May be NULL. */
    void (*granted)(void *context, struct slice name, const struct locks_reply *reply);
};

/* A request that waits for a lock. */
struct waiter;

/* As locks_acquire, but if the lock is held, waits in its queue for `wait_ms`, which is not 0. More
 * results: LOCKS_TIMEOUT, _CANCELLED, _SUPERSEDED, _DRAINING, _TOO_MANY_WAITERS. At its turn
 * `is_connected` says whether the client is still there: if not, the grant goes to the next waiter
 * at once (locks_abandon is expected to follow). The waiter is freed when `done` has returned. */
struct waiter *locks_wait(struct locks *locks, const struct acquire *acquire,
                          const struct acquirer *acquirer, locks_done *done);

/* The client has gone: the waiter leaves the queue, or keeps its place for keep_ms. A grant goes to
 * the next waiter. `done` is not called. */
void locks_abandon(struct waiter *waiter);

/* A request that waits for a name to change. */
struct watch;

/* What a watch waits for. Without a token: for a version greater than `after`. With a token: until
 * `mine` or `wanted` is no longer as the client says here. */
struct watch_for {
    int64_t after;
    struct slice token;
    bool mine;        /* the token has a hold, or waits for one */
    bool wanted;      /* while it has a hold: somebody waits for the name */
    bool until_ended; /* `wanted` does not count */
};

/* Answers LOCKS_DONE with `view` and `changed` as soon as that is so, or after `wait_ms` with
 * `changed` false. Copies the token. */
struct watch *locks_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                          int64_t wait_ms, locks_done *done, void *context);

/* Ends the watch; `done` is not called. */
void locks_unwatch(struct watch *watch);

/* How far a watch of a prefix has come. Zeroed: it knows nothing. */
struct prefix_position {
    int64_t after;    /* all changes up to this version are known; */
    int64_t snapshot; /* if this is greater, a snapshot is under way: of the locks that were held at
                       * this time, only those up to `after` are known */
};

/* As locks_watch for all names that begin with `prefix` (it may be empty). The listener hears
 * `each` for every lock that has changed since `from`, then `done` once; if none changes within
 * `wait_ms`, `done` alone.
 *
 * - If `from` knows nothing, or is older than the changes that are kept, a snapshot `begins`: the
 *   listener hears of the locks that are held, without waiting, and any other lock is free. Changes
 *   are kept for a minute at least, but of free names only the latest few thousand.
 * - Of what has changed before, the listener hears of about `limit` locks (1 or more), those that
 *   changed first. Names that changed in the same microsecond come together, beyond the limit.
 * - `reached` is the `from` of the next call, valid during the callback. No change is missed, one
 *   may come twice, and what the limit left out comes then.
 *
 * Costs memory for the names held under the prefix and for the few thousand that became free last;
 * a scan of Redis' keys at first; and, while any client watches a prefix and for 10 s after, one
 * script for each of its names that changes. */
struct prefix_watch;

struct prefix_listener {
    void *context;
    /* Whether the listener may hear of this name. NULL: of all. */
    bool (*wants)(void *context, struct slice name);
    /* `*shared` is NULL for the first listener that hears of this view. A listener may leave a
     * block there for the others; it is freed by free(3) when all have heard. */
    void (*each)(void *context, struct slice name, const struct lock_view *view, char **shared);
    void (*done)(void *context, enum locks_result result, const struct prefix_position *reached,
                 bool begins, const char *error);
};

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix,
                                        const struct prefix_position *from, int64_t wait_ms,
                                        size_t limit, const struct prefix_listener *listener);

/* Ends the watch; the listener is not called any more. */
void locks_unwatch_prefix(struct prefix_watch *watch);

/* Renews a hold every third of its TTL until renewer_stop, or until the hold is lost. While Redis
 * cannot be asked, it tries again every tenth of the TTL. Renews at once when messages may have
 * been lost; and, if the hold is of a connection, when another request has ended it. */
struct renewer;

struct renewer_events {
    void *context;
    void (*renewed)(void *context, const struct hold *hold); /* may be NULL */
    /* The hold is gone, or may have ended while Redis could not be asked. The renewer is freed when
     * this has returned. `why` is a constant text. `end` is NULL if Redis has not told that the
     * hold is gone; its fence is 0 if Redis does not know how it has ended. */
    void (*lost)(void *context, const char *why, const struct hold_end *end);
};

/* `ttl_ms` is what remains of the hold now, by the reply that told of it. Each renewal gives the
 * hold the TTL that it was last given. It is the worker's own: until the client itself renews or
 * repeats its request, the hold may still be taken back. With `replicas`, a renewal counts when so
 * many have confirmed it. The texts are copied. */
struct renewer *renewer_start(struct locks *locks, struct slice name, struct slice token,
                              int64_t ttl_ms, int64_t replicas,
                              const struct renewer_events *events);

/* Call this right after renewer_start for a client whose connection must not be silent. From then
 * on the hold is renewed at least every two thirds of `silence_ms`. If no other event comes for
 * `silence_ms`, since Redis does not answer, `silent` tells how much is left of the hold for
 * certain, in ms. */
void renewer_beat(struct renewer *renewer, int64_t silence_ms,
                  void (*silent)(void *context, int64_t left_ms));

/* Stops renewing and frees the renewer; no event follows. The hold stays for the rest of its TTL.
 * May be called from the renewer's own events. */
void renewer_stop(struct renewer *renewer);

/* Acquires several names, all or none, one after the other in the order of their bytes: so two
 * requests cannot wait for each other, and of two that do not wait one gets all.
 *
 * - Until the last is granted, the earlier ones are held for the claim window only, and renewed.
 * - A name that the token holds already counts as granted. Its TTL becomes longer, never shorter.
 * - After a refusal such a name stays as it is; what this request was granted is given back without
 *   a trace. If a hold is lost on the way, all are given back: LOCKS_NOT_HELD, or LOCKS_UNAVAILABLE
 *   if Redis could not be asked in time. */
struct several;

struct several_reply {
    /* Acquire: as of locks_wait; REPEATED if each was. Renew and release: DONE, NOT_HELD or
     * UNAVAILABLE. */
    enum locks_result result;
    const char *error;
    size_t count; /* names, sorted */
    struct {
        struct slice name;
        enum locks_result result; /* DONE or REPEATED; DONE, NOT_HELD, UNCONFIRMED or UNAVAILABLE */
        struct attempt attempt;   /* for locks_take_back, if the reply does not arrive */
        struct hold hold;
        struct release release;
    } each[LOCKS_SEVERAL_MOST];
    size_t
        refused; /* index of the name that `view` is of: acquire: which was refused or lost; renew
                  * and release: a NOT_HELD one of which the end is known, if there is any */
    struct lock_view view; /* as of locks_reply */
};

typedef void several_done(void *context, const struct several_reply *reply);

/* `names` are 1 to LOCKS_SEVERAL_MOST, all different. `wait_ms` (may be 0) is for all together;
 * `acquire->name` and `keep_ms` are not used. Everything is copied. It is freed when `done` has
 * returned. */
struct several *locks_acquire_several(struct locks *locks, const struct slice *names, size_t count,
                                      const struct acquire *acquire,
                                      const struct acquirer *acquirer, several_done *done);

/* The client has gone before `done`: all is given back, and `done` is not called. */
void several_abandon(struct several *several);

/* Renews or releases each name, whatever becomes of the others. The result is the
 * worst of all: UNAVAILABLE, then DAMAGED, UNCONFIRMED, NOT_HELD, DONE. */
void locks_renew_several(struct locks *locks, const struct slice *names, size_t count,
                         struct slice token, int64_t ttl_ms, int64_t replicas, several_done *done,
                         void *context);
void locks_release_several(struct locks *locks, const struct slice *names, size_t count,
                           struct slice token, several_done *done, void *context);

/* This worker is about to stop: every waiter is answered LOCKS_DRAINING and keeps its place in the
 * queue; every watch is answered with the state as it is. So are requests that come later. */
void locks_drain(struct locks *locks);

/* Sets what remains of a hold to `ttl_ms`; 0: to the TTL that it was last given. LOCKS_DONE sets
 * `hold`. LOCKS_UNCONFIRMED: fewer than `replicas` of Redis have the new end; the others have the
 * end that was told before. */
void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 int64_t replicas, locks_done *done, void *context);

/* LOCKS_DONE sets `release`; a repeated release gets the same. */
void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context);

/* As locks_release, for a hold of a connection that has ended; `attempt` is that of its request.
 * LOCKS_NOT_HELD if a later connection with the same token has the hold. */
void locks_release_connection(struct locks *locks, struct slice name, struct slice token,
                              const struct attempt *attempt, locks_done *done, void *context);

/* Ends the hold with this fence and no other; 0: every hold of the name, and if its record in Redis
 * cannot be read, deletes that. LOCKS_DONE sets `broken` and `view.holders`. */
void locks_break(struct locks *locks, struct slice name, int64_t fence,
                 const struct breaker *breaker, locks_done *done, void *context);

/* LOCKS_DONE sets `view`. `token` may be absent. The view has LOCK_WAITERS_SHOWN waiters at most;
 * if `waiters` is another number, that many, LOCK_WAITERS_MOST at most (a quorum shows as many as
 * ever). */
void locks_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                   locks_done *done, void *context);

/* The waiter at this position of the queue, from 0; false: the view has none there. Call this
 * during the callback that has got the view. */
bool locks_waiter(const struct lock_view *view, size_t position, struct waiter_view *ret);

/* Whether Redis could store a grant now and `replicas` confirm it: LOCKS_DONE, LOCKS_UNCONFIRMED or
 * LOCKS_UNAVAILABLE. */
void locks_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);

/* As store_primary and store_trouble. */
const char *locks_primary(const struct locks *locks);
const char *locks_trouble(const struct locks *locks);

/* Hears of one page of the held locks: `each` for every lock, then `done` with the cursor of the
 * `next` page, absent at the end. A page may have fewer than `limit` locks, even none, and not be
 * the last. */
struct locks_listener {
    void *context;
    bool (*wants)(void *context, struct slice name); /* NULL: all */
    void (*each)(void *context, struct slice name, const struct lock_view *view);
    void (*skipped)(void *context, struct slice name); /* its record cannot be read; may be NULL */
    void (*done)(void *context, enum locks_result result, struct slice next, const char *error);
};

/* Which holds a list is of. */
struct list_filter {
    struct slice owner; /* by its name, whatever its realm; absent: any */
    int64_t held_ms;    /* at least, by the clock of Redis; 0: for any time */
};

/* Lists the held locks whose names begin with `prefix`. With a `filter` (NULL: none), only those
 * with a hold that fits; of their holds only such are shown. `cursor` is absent for the first page;
 * `limit` is 1 to LOCKS_LIST_LONGEST. A name that is held all the time is never missed; one that is
 * acquired or released meanwhile may be. The listener is copied. Returns 0, or -EINVAL for a cursor
 * that no listing gave: then the listener hears nothing. */
int locks_list(struct locks *locks, struct slice prefix, const struct list_filter *filter,
               struct slice cursor, size_t limit, const struct locks_listener *listener);

/* A portion of a count of all holds. */
struct locks_count {
    enum locks_result result; /* DONE; or UNAVAILABLE, and nothing else is set */
    struct slice cursor;      /* of the next portion; "0": this was the last */
    int64_t keys;             /* looked at, about */
    int64_t holds;            /* found among them */
};

typedef void locks_counted(void *context, const struct locks_count *count);

/* Counts one portion from `cursor` on, "0" at first. A hold that lasts all the time is never left
 * out; one may be counted twice if Redis resizes its table meanwhile. Changes nothing. */
void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context);

#endif
