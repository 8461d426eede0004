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
    bool token_is_new;  /* this worker made it for this request, so no earlier one used it */
    struct slice owner; /* as owner_compose writes it, like every owner here */
    bool owner_is_made; /* batond made it, since the client gave none: a repeat may have another
                         * owner, and no request re-enters the hold */
    bool is_reentrant;  /* the holds of this owner let it in */
    enum lock_mode mode;
    int64_t limit;       /* 0: none; only with LOCK_SHARED */
    int64_t permits;     /* how many holds it counts as by the limits; 0 or 1: one */
    int64_t ttl_ms;      /* of the hold */
    int64_t at_least_ms; /* the name stays taken at least this long after the grant; 0: unset */
    int64_t max_held_ms; /* how long renewals may carry the hold from its grant; 0: no limit */
    struct slice meta;   /* a JSON object, or absent */
    struct slice client; /* its address, or absent; LOCK_CLIENT_LENGTH at most */
    int64_t wait_ms;     /* for locks_wait: the longest wait */
    int64_t keep_ms;     /* for locks_wait: how long the queue keeps its place without a request */
    int64_t replicas;    /* how many replicas must confirm the hold before the reply; 0: none */
    bool of_connection;  /* the hold ends with the connection: see locks_release_connection */
    int64_t set;         /* set by locks_acquire_several: equal for equal sets of names; else 0 */
};

/* A hold, for its owner. `owner` is a part of Redis's answer: copy it to keep the hold. */
struct hold {
    int64_t fence;
    int64_t ttl_ms; /* what remains */
    int64_t holds;  /* how many this owner has now */
    int64_t version;
    struct slice owner;
    enum lock_mode mode;
    int64_t limit;       /* 0: none */
    int64_t permits;     /* 0 or 1: one */
    int64_t at_least_ms; /* what remains: a release now keeps the name taken this long */
    int64_t max_held_ms; /* what remains; 0: it has none */
    bool is_final;       /* max_held ends it: no renewal makes it longer */
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
    bool released;       /* its owner released it: it only keeps the name taken for `ttl_ms` */
    int64_t at_least_ms; /* this and the next two as in struct hold */
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

/* The caller that breaks holds, its address and its reason. Each text is clean, and may be
 * empty. */
struct breaker {
    struct slice principal; /* OWNER_REALM_LENGTH bytes at most */
    struct slice client;    /* the address; LOCK_CLIENT_LENGTH at most */
    struct slice reason;    /* LOCK_REASON_LENGTH at most */
};

/* How a hold ended. */
struct hold_end {
    int64_t fence;       /* 0: nothing is known */
    struct slice reason; /* "released", "expired" or "forced" */
    int64_t ago_ms;
    struct slice owner;     /* empty: not known */
    struct breaker breaker; /* set if the hold was broken */
};

/* The state of a name, for any client. */
struct lock_view {
    int64_t version;
    int64_t hold_count;
    int64_t extra_permits; /* permits of all holds, less one for each hold */
    int64_t limit;         /* of the newest shared hold; 0: none */
    int64_t queue_length;
    bool mine;         /* the request's token has a hold */
    int64_t position;  /* the place of the request's token in the queue, from 1; 0: not in it */
    bool is_other_set; /* LOCKS_TOKEN_IN_USE: an earlier request had other names */
    int reentry; /* LOCKS_TOKEN_IN_USE: the waiting request is reentrant and this one is not (1), or
                  * the reverse (-1) */
    int64_t opens_ms; /* LOCKS_QUARANTINED: ms until Redis may grant, as far as it knows */
    enum quarantine_reason opens_reason; /* and why not sooner */
    struct hold_end last_release;
    struct holder holders[LOCK_HOLDERS_SHOWN]; /* the first to end comes first */
    size_t holder_count;                       /* of those shown */
    /* In the order of their turns; waiters that are passed over now come last. Set by an
     * inspection, a watch or a list, not by a refusal. */
    struct waiter_view waiters[LOCK_WAITERS_SHOWN];
    size_t waiter_count;             /* of those shown */
    const struct value *all_waiters; /* if more were asked for, and exist: see locks_waiter */
};

/* The end of a hold by its owner. */
struct release {
    int64_t fence;
    int64_t held_ms;
    int64_t holds; /* how many the owner still has */
    int64_t version;
    int64_t free_in_ms; /* how long the hold's at_least keeps the name taken */
    struct slice owner; /* not set if `repeated` */
    bool repeated;      /* an earlier release has ended the hold */
    bool cancelled;     /* the token waited, and has left the queue; nothing else is set */
};

enum locks_result {
    LOCKS_DONE,
    LOCKS_REPEATED,       /* acquire: the token had the hold already */
    LOCKS_LOCKED,         /* acquire: other holds exclude it; `view` has them */
    LOCKS_TOKEN_RELEASED, /* acquire: this token's hold was released already */
    LOCKS_TOKEN_IN_USE,   /* acquire: another request used the token; the first holder and the limit
                           * of `view` describe it */
    LOCKS_NOT_HELD,   /* renew, release: the token has no live hold; `view.last_release` says how it
                       * ended, if that was the last hold of the name to end */
    LOCKS_MAX_HELD,   /* renew: the hold has reached its max_held; `hold` is unchanged */
    LOCKS_TIMEOUT,    /* waiting: the wait has ended; `view` has the holders */
    LOCKS_CANCELLED,  /* waiting: a release with its token has ended it */
    LOCKS_SUPERSEDED, /* waiting: a later request with the same token has taken its place */
    LOCKS_DRAINING,   /* waiting: this worker stops; the queue keeps the place */
    LOCKS_TOO_MANY_WAITERS, /* waiting: the queue is full; `view` has its length */
    LOCKS_UPGRADE_CONFLICT, /* acquire: another owner already waits to upgrade its hold */
    LOCKS_UNCONFIRMED,      /* acquire, renew, ready: too few replicas confirmed; see `error` */
    LOCKS_QUARANTINED,      /* acquire, waiting: no grants now; see locks_quarantine */
    LOCKS_DAMAGED,          /* batond cannot read the name's record; see `error` */
    LOCKS_UNAVAILABLE,      /* Redis is down, or its answer was lost; see `error` */
};

enum { LOCKS_RESULTS = LOCKS_UNAVAILABLE + 1 }; /* it is the last */

/* The answer to any operation. Only the members that the operation's comment names are set. Valid
 * during the callback. */
struct locks_reply {
    enum locks_result result;
    const char *error;
    struct attempt attempt;
    struct hold hold;
    int64_t confirmed_ms; /* how long the replicas took; `ttl_ms` is less by as much */
    struct lock_view view;
    bool changed; /* watching: what the watch waits for has come */
    struct release release;
    uint64_t notified_at; /* waiting: when a message announced the grant, uv_hrtime; 0: none did */
    struct {
        int64_t count; /* holds ended; `view.holders` has the first of them */
        int64_t version;
        bool cleared; /* `count` is unknown: the record could not be read */
    } broken;
};

/* Runs once, from the loop, never before the operation's call has returned. */
typedef void locks_done(void *context, const struct locks_reply *reply);

/* An expired hold, or several. */
struct expiry {
    struct slice name;
    /* 1: the members below describe the hold. Else this many further holds have expired at once,
     * and the members below have the values in the comments. */
    int64_t count;
    int64_t fence;      /* -1 */
    int64_t held_ms;    /* -1 */
    struct slice owner; /* absent */
    enum lock_mode mode;
};

/* Events for the owner of the locks, from the loop. Each may be NULL. */
struct locks_events {
    void *context;
    /* A script of this worker has ended an expired hold. Called once, before the script's answer.
     * About half a second after its TTL ends, the worker checks each hold that it granted or
     * renewed, even if no request asks for the name. A hold that no client knew of causes no event.
     * `expiry` is valid during the call. Start no operation in it. */
    void (*expired)(void *context, const struct expiry *expiry);
    /* A quarantine of a shard has begun, has become longer, or has ended. */
    void (*quarantined)(void *context, const struct quarantine *quarantine);
    /* A shard is up, its epoch was read, and it may be used. */
    void (*serving)(void *context, unsigned shard);
    /* Replicas have confirmed a hold or not, `nanoseconds` after batond asked Redis for it. */
    void (*confirmed)(void *context, uint64_t nanoseconds, bool is_confirmed);
    /* Something under this key, of a lock or of Baton's own, cannot be read; `error` says why.
     * Called each time. */
    void (*damaged)(void *context, struct slice key, const char *error);
    /* A request with this limit found shared holds of the name with another one. 0: no limit. */
    void (*limits_differ)(void *context, struct slice name, int64_t limit, int64_t other);
    /* The store's own events, with their own contexts. `up`, `moved`, `listening`, `message` and
     * `stamp` are called after the locks have handled them; `migrated`, `invalidated` and `result`
     * are the locks' alone. */
    struct store_events store;
};

struct locks_options {
    uv_loop_t *loop;
    const struct redis_url *redis_url; /* used until locks_open returns */
    struct slice key_prefix;           /* copied */
    int64_t retention_ms;              /* how long a free name is remembered */
    int64_t waiter_lease_ms;    /* how long waiters outlive the last heartbeat of their worker */
    int64_t claim_window_ms;    /* how long an unclaimed grant blocks the next */
    int64_t library_check_ms;   /* how often to look for unused libraries; 0: never */
    int64_t max_waiters;        /* of one name */
    int64_t replicas;           /* batond prepares for this many to confirm; 0: none */
    int64_t confirm_timeout_ms; /* how long that may take after the request to Redis */
    uint32_t process;           /* a random number, the same for workers that die together */
    int64_t quarantine_ms;      /* how long a quarantine is, or QUARANTINE_AUTO, _OFF */
    bool is_embedded;           /* batond's own Redis: all that it ever answered is on disk */
    bool keeps_all;             /* the operator says the same of another Redis */
    struct locks_events events;
};

/* Opens the store behind `redis_url` and the locks in it. Gives this worker an inbox with a random
 * name in Redis. Returns 0 or a negative errno. */
int locks_open(struct locks **ret, const struct locks_options *options);

/* Closes the store, then the locks, and calls `closed` once from the loop, if it is not NULL.
 * Operations under way are answered first: call locks_drain before, so that none waits. Takes NULL:
 * then `closed` is not called. */
void locks_close(struct locks *locks, void (*closed)(void *context), void *context);

/* The store, to read its nodes and their state. */
const struct store *locks_store(const struct locks *locks);

/* Whether the store has a connection, as far as it knows. If a connection breaks, this is false
 * before the operations under way are answered; the store's event `down` comes after that. */
bool locks_has_store(const struct locks *locks);

/* How many ms a quarantine still keeps the name from being granted, as far as this worker knows,
 * and why; 0: none does. Without a name: the longest quarantine. */
int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason);

/* How many ms a quarantine may still refuse some client; 0: none does. In a quorum none does while
 * more than half of the members are out of quarantine. */
int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason);

/* How many ms a quarantine would last if Redis lost all data now; 0: no hold is known, or the
 * setting `quarantine` is off. The longest recent hold decides, even if it was released. */
int64_t locks_pause_after_loss(const struct locks *locks);

/* Reads the next node in quarantine into *ret, and moves *position, which is 0 at first. False: no
 * more. */
bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret);

/* `ended` is how many nodes have left quarantine. With an `error`, a text for clients, a quarantine
 * may go on. */
typedef void locks_quarantines_ended(void *context, unsigned ended, const char *error);

/* Ends every quarantine early, for all workers that share the Redis; the others notice within a
 * second. A loss that is noticed later begins another quarantine. `done` runs once, from the loop
 * and never before this returns. Returns false, and does nothing, if no node serves names. */
bool locks_end_quarantines(struct locks *locks, locks_quarantines_ended *done, void *context);

/* How many nodes of a Cluster or quorum are in quarantine; 0 if there is only one node. */
unsigned locks_quarantined(const struct locks *locks);

/* How many grants and renewals this worker could not note, for lack of memory. When such a hold
 * expires, `expired` is called only after another request for its name. */
uint64_t locks_left_out(const struct locks *locks);

/* How often `damaged` was called. */
uint64_t locks_damages(const struct locks *locks);

/* Call this about every second: tries again to take back grants for which Redis refused it. */
void locks_try_again(struct locks *locks);

/* Whether no grant is in doubt and no client waits or watches. A worker waits for this before it
 * ends. */
bool locks_are_settled(const struct locks *locks);

/* LOCKS_DONE and LOCKS_REPEATED set `hold` and `attempt`. A grant in doubt is LOCKS_UNAVAILABLE.
 * Like a grant that is LOCKS_UNCONFIRMED, it is taken back (locks_take_back) once Redis is up. */
void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context);

/* Takes back a hold whose client cannot know of it, because the reply did not arrive. Other
 * requests of the token that have got the hold keep it until they take it back, too. With a
 * `keep_ms` the queue keeps the place at its head that long. */
void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms);

/* The client of a request, while the request is under way. */
struct acquirer {
    void *context;                       /* the context of `done`, too */
    bool (*is_connected)(void *context); /* whether the client is still there */
    /* The request has entered the queue of this name; with several names, one queue after the
     * other. May be NULL. */
    void (*queued)(void *context, struct slice name);
    /* Only for several names: this one is held now, DONE or REPEATED. It is given back if the
     * request does not get the others, or if they are not confirmed. May be NULL. */
    void (*granted)(void *context, struct slice name, const struct locks_reply *reply);
};

/* A request that waits for a lock. */
struct waiter;

/* As locks_acquire, but if the lock is held, waits in its queue for `wait_ms`, which is not 0. Also
 * results in LOCKS_TIMEOUT, _CANCELLED, _SUPERSEDED, _DRAINING or _TOO_MANY_WAITERS. At its turn
 * `is_connected` says whether the client is still connected. If not, the grant goes to the next
 * waiter at once, and locks_abandon must follow. The waiter is freed after `done`. */
struct waiter *locks_wait(struct locks *locks, const struct acquire *acquire,
                          const struct acquirer *acquirer, locks_done *done);

/* The client has gone: the waiter leaves the queue, or keeps its place for keep_ms. A grant goes to
 * the next waiter. `done` is not called. */
void locks_abandon(struct waiter *waiter);

/* A request that waits for a name to change. */
struct watch;

/* What a watch waits for. Without a token: a version greater than `after`. With a token: that
 * `mine` or `wanted` differ from what the client says here. */
struct watch_for {
    int64_t after;
    struct slice token;
    bool mine;        /* the token has a hold, or waits for one */
    bool wanted;      /* while it has a hold: others wait for the name */
    bool until_ended; /* `wanted` does not count */
};

/* Waits for a change, at most `wait_ms`. Then LOCKS_DONE sets `view`, and `changed` if there was
 * one. Copies the token. */
struct watch *locks_watch(struct locks *locks, struct slice name, const struct watch_for *what,
                          int64_t wait_ms, locks_done *done, void *context);

/* Ends the watch; `done` is not called. */
void locks_unwatch(struct watch *watch);

/* How far a watch of a prefix has come. Zeroed: it knows nothing. */
struct prefix_position {
    int64_t after;    /* all changes up to this version are known */
    int64_t snapshot; /* if greater, a snapshot is under way: of the locks held at this time, only
                       * those up to `after` are known */
};

/* As locks_watch for all names that begin with `prefix`, which may be empty. Calls `each` for every
 * lock that has changed since `from`, then `done` once. If none changes within `wait_ms`, calls
 * `done` alone.
 *
 * - If `from` knows nothing, or is older than the kept changes, a snapshot `begins`: `each` gets
 *   the held locks, without waiting, and any other lock is free. Changes are kept for at least a
 *   minute, but of free names only the latest few thousand.
 * - Of earlier changes, `each` gets about `limit` locks (1 or more), the first changes first. Names
 *   that changed in the same microsecond come together, even beyond the limit.
 * - `reached` is the `from` of the next call, valid during the callback. No change is missed, and
 *   one may come twice. What exceeded the limit comes next time.
 *
 * Costs memory for the held names under the prefix, and for the few thousand that became free last;
 * at first a scan of Redis' keys; and, while any client watches a prefix and for 10 s after that,
 * one script for each change of its names. */
struct prefix_watch;

struct prefix_listener {
    void *context;
    /* Whether the listener may see this name. NULL: all names. */
    bool (*wants)(void *context, struct slice name);
    /* `*shared` is NULL for the first listener that gets this view. It may leave a block there for
     * the others; free(3) frees it when all have got the view. */
    void (*each)(void *context, struct slice name, const struct lock_view *view, char **shared);
    void (*done)(void *context, enum locks_result result, const struct prefix_position *reached,
                 bool begins, const char *error);
};

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix,
                                        const struct prefix_position *from, int64_t wait_ms,
                                        size_t limit, const struct prefix_listener *listener);

/* Ends the watch; the listener is no longer called. */
void locks_unwatch_prefix(struct prefix_watch *watch);

/* Renews a hold every third of its TTL until renewer_stop, or until the hold is lost. While Redis
 * is down, it tries again every tenth of the TTL. Renews at once if messages may have been lost,
 * and if another request has ended the hold of a connection. */
struct renewer;

struct renewer_events {
    void *context;
    void (*renewed)(void *context, const struct hold *hold); /* may be NULL */
    /* The hold is gone, or may have ended while Redis was down. The renewer is freed after this.
     * `why` is a constant text. `end` is NULL if Redis has not said that the hold is gone; its
     * fence is 0 if Redis does not know how the hold ended. */
    void (*lost)(void *context, const char *why, const struct hold_end *end);
};

/* `ttl_ms` is what remains of the hold now, by the reply that reported it. Each renewal gives the
 * hold its last TTL again. It does not prove that the client knows the hold: the hold may still be
 * taken back until the client itself renews or repeats its request. If `replicas` is not 0, a
 * renewal counts only if that many replicas confirm it. Copies the texts. */
struct renewer *renewer_start(struct locks *locks, struct slice name, struct slice token,
                              int64_t ttl_ms, int64_t replicas,
                              const struct renewer_events *events);

/* Call this right after renewer_start if the client's connection must not be silent. From then on
 * the hold is renewed at least every two thirds of `silence_ms`. If Redis does not answer, and no
 * other event comes for `silence_ms`, calls `silent` with the ms that the hold certainly still
 * lasts. */
void renewer_beat(struct renewer *renewer, int64_t silence_ms,
                  void (*silent)(void *context, int64_t left_ms));

/* Stops renewing and frees the renewer; no event follows. The hold stays for the rest of its TTL.
 * May be called from the renewer's own events. */
void renewer_stop(struct renewer *renewer);

/* Acquires several names, all or none, one after the other in the order of their bytes. So two
 * requests cannot wait for each other, and of two that do not wait, one gets all.
 *
 * - Until the last is granted, the earlier holds have only the claim window as their TTL, and are
 *   renewed.
 * - A name that the token already holds counts as granted. Its TTL becomes longer, never shorter.
 * - After a refusal such a name stays as it is, and this request's other holds are given back
 *   without a trace. If a hold is lost meanwhile, all are given back: LOCKS_NOT_HELD, or
 *   LOCKS_UNAVAILABLE if Redis did not answer in time. */
struct several;

struct several_reply {
    /* Acquire: as locks_wait; REPEATED if each is. Renew, release: as below. */
    enum locks_result result;
    const char *error;
    size_t count; /* names, sorted */
    struct {
        struct slice name;
        enum locks_result result; /* Acquire: DONE or REPEATED. Renew, release: as for one name. */
        struct attempt attempt;   /* for locks_take_back, if the reply does not arrive */
        struct hold hold;
        struct release release;
    } each[LOCKS_SEVERAL_MOST];
    size_t refused;        /* index of the name of `view`. Acquire: the refused or lost one. Renew,
                            * release: one that is NOT_HELD, with a known end if any has one */
    struct lock_view view; /* as in locks_reply */
};

typedef void several_done(void *context, const struct several_reply *reply);

/* `names` are 1 to LOCKS_SEVERAL_MOST, all different. `wait_ms` (may be 0) is for all together;
 * `acquire->name` and `keep_ms` are not used. Copies all texts. Freed after `done`. */
struct several *locks_acquire_several(struct locks *locks, const struct slice *names, size_t count,
                                      const struct acquire *acquire,
                                      const struct acquirer *acquirer, several_done *done);

/* The client has gone before `done`: gives all holds back. `done` is not called. */
void several_abandon(struct several *several);

/* Renews or releases each name, even if others fail. The result is the worst of all: UNAVAILABLE,
 * then DAMAGED, UNCONFIRMED, NOT_HELD, MAX_HELD, DONE. */
void locks_renew_several(struct locks *locks, const struct slice *names, size_t count,
                         struct slice token, int64_t ttl_ms, int64_t replicas, several_done *done,
                         void *context);
void locks_release_several(struct locks *locks, const struct slice *names, size_t count,
                           struct slice token, several_done *done, void *context);

/* Call this when the worker is about to stop. Answers every waiter LOCKS_DRAINING, and keeps its
 * place in the queue; answers every watch with the present state. Does so with later requests,
 * too. */
void locks_drain(struct locks *locks);

/* Makes the hold end `ttl_ms` from now; with 0, its last TTL from now. LOCKS_DONE sets `hold`.
 * LOCKS_UNCONFIRMED: fewer than `replicas` replicas have the new end, so count on the end that was
 * reported before. */
void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 int64_t replicas, locks_done *done, void *context);

/* LOCKS_DONE sets `release`; a repeated release gets the same. */
void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context);

/* As locks_release, for a hold of a connection that has ended; `attempt` is its request's.
 * LOCKS_NOT_HELD if a later connection with the same token has the hold. */
void locks_release_connection(struct locks *locks, struct slice name, struct slice token,
                              const struct attempt *attempt, locks_done *done, void *context);

/* Ends the hold with this fence. With 0 ends all holds of the name, and deletes its record if it
 * cannot be read. LOCKS_DONE sets `broken` and `view.holders`. */
void locks_break(struct locks *locks, struct slice name, int64_t fence,
                 const struct breaker *breaker, locks_done *done, void *context);

/* LOCKS_DONE sets `view`. `token` may be absent. The view has at most `waiters` waiters, which is
 * at most LOCK_WAITERS_MOST; a quorum shows at most LOCK_WAITERS_SHOWN. */
void locks_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                   locks_done *done, void *context);

/* The waiter at this position of the queue, from 0. False: the view has none there. Call this
 * during the callback that got the view. */
bool locks_waiter(const struct lock_view *view, size_t position, struct waiter_view *ret);

/* Whether Redis could store a grant now and `replicas` confirm it: LOCKS_DONE, LOCKS_UNCONFIRMED or
 * LOCKS_UNAVAILABLE. */
void locks_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);

/* As store_primary and store_trouble. */
const char *locks_primary(const struct locks *locks);
const char *locks_trouble(const struct locks *locks);

/* Gets one page of the held locks: `each` for every lock, then `done` with the cursor of the `next`
 * page, absent after the last. A page may have fewer than `limit` locks, even none, without being
 * the last. */
struct locks_listener {
    void *context;
    bool (*wants)(void *context, struct slice name); /* NULL: all */
    void (*each)(void *context, struct slice name, const struct lock_view *view);
    void (*skipped)(void *context, struct slice name); /* its record cannot be read; may be NULL */
    void (*done)(void *context, enum locks_result result, struct slice next, const char *error);
};

/* Which holds to list. */
struct list_filter {
    struct slice owner; /* by name, in any realm; absent: any owner */
    int64_t held_ms;    /* held at least this long, by the clock of Redis; 0: any time */
};

/* Lists the held locks whose names begin with `prefix`. With a `filter` (else NULL), lists only
 * locks with matching holds, and shows only these holds. `cursor` is absent for the first page;
 * `limit` is 1 to LOCKS_LIST_LONGEST. A name that is held throughout is never missed; one that is
 * acquired or released meanwhile may be. Copies the listener. Returns 0, or -EINVAL if no list gave
 * this cursor: then the listener is not called. */
int locks_list(struct locks *locks, struct slice prefix, const struct list_filter *filter,
               struct slice cursor, size_t limit, const struct locks_listener *listener);

/* One portion of a count of all holds. */
struct locks_count {
    enum locks_result result; /* DONE; or UNAVAILABLE, and nothing else is set */
    struct slice cursor;      /* of the next portion; "0" after the last */
    int64_t keys;             /* how many the script visited, about */
    int64_t holds;            /* how many holds they have */
};

typedef void locks_counted(void *context, const struct locks_count *count);

/* Counts one portion, from `cursor` on, which is "0" at first. Counts every hold that lasts
 * throughout; one may count twice if Redis resizes its table meanwhile. Changes nothing. */
void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context);

#endif
