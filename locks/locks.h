/* locks.h: what can be done with locks: each operation is one script in Redis and one callback. */
#ifndef BATON_LOCKS_LOCKS_H
#define BATON_LOCKS_LOCKS_H

#include "locks/types/name.h"
#include "locks/types/owner.h"
#include "locks/types/quarantine.h"
#include "locks/types/token.h"
#include "redis/store.h"

/* The locks as one worker sees them. Used on the thread of its store's loop alone; it keeps no
 * lock in memory, only what is under way. */
struct locks;

enum {
    LOCK_META_LENGTH = 1024, /* bytes of JSON, at most */
    LOCK_LIMIT_HIGHEST = 1000000,
    LOCK_HOLDERS_SHOWN = 10,
    LOCK_WAITERS_SHOWN = 10,
    LOCK_WAITERS_MOST = 200,        /* that can be asked for */
    LOCK_ATTEMPT_LENGTH = 16,       /* characters */
    LOCKS_COUNT_CURSOR_LENGTH = 32, /* characters, at most */
    LOCKS_LIST_LONGEST = 1000,      /* locks in a page, at most */
    LOCKS_SEVERAL_MOST = 64,        /* names acquired together, at most */
};

enum lock_mode { LOCK_EXCLUSIVE, LOCK_SHARED };

/* Identifies one acquire request among all that use its token. */
struct attempt {
    char text[LOCK_ATTEMPT_LENGTH + 1];
};

/* The parts of a request; the texts are copied before the call returns. */
struct acquire {
    struct slice name;
    struct slice token;
    bool token_is_new;  /* made by this server for this request: no earlier one can have used it */
    struct slice owner; /* as owner_compose writes it, wherever an owner stands here */
    enum lock_mode mode;
    int64_t limit;      /* 0: none; only with LOCK_SHARED */
    int64_t ttl_ms;     /* of the hold */
    struct slice meta;  /* a JSON object as text, or absent */
    int64_t wait_ms;    /* for locks_wait: how long to wait at most */
    int64_t keep_ms;    /* for locks_wait: how long its place is kept while no request waits */
    int64_t replicas;   /* of Redis that must have the hold before anybody is told of it; 0: none */
    bool of_connection; /* its hold is to end with the connection: see locks_release_connection */
};

/* What an owner gets to know of its hold. */
struct hold {
    int64_t fence;
    int64_t ttl_ms; /* what remains */
    int64_t holds;  /* how many this owner has now */
    int64_t version;
    struct slice owner;
    enum lock_mode mode;
    int64_t limit; /* 0: none */
};

/* What others get to know of a hold. */
struct holder {
    struct slice owner;
    enum lock_mode mode;
    int64_t fence;
    int64_t ttl_ms;
    int64_t held_ms;
    struct slice meta; /* empty where none was given */
};

/* What others get to know of one who waits. */
struct waiter_view {
    struct slice owner;
    enum lock_mode mode;
    int64_t waited_ms;
};

/* What anybody gets to know of a name. */
struct lock_view {
    int64_t version;
    int64_t hold_count;
    int64_t limit; /* of the shared holds there are; 0: none */
    int64_t queue_length;
    bool mine;        /* the token that was asked about holds */
    int64_t opens_ms; /* LOCKS_QUARANTINED: until it may be granted, as far as Redis has said */
    struct {
        int64_t fence; /* 0 where nothing is known of an earlier hold */
        struct slice reason;
        int64_t ago_ms;
    } last_release;
    struct holder holders[LOCK_HOLDERS_SHOWN]; /* the one that ends soonest first */
    size_t holder_count;                       /* of those shown */
    /* In the order in which they would be granted, those who are passed over now behind the others;
     * where a lock is inspected, watched or listed, not where one is refused. */
    struct waiter_view waiters[LOCK_WAITERS_SHOWN];
    size_t waiter_count; /* of those shown */
    const struct value
        *all_waiters; /* where more were asked for, and are there: all, for locks_waiter */
};

/* The end of a hold by its owner. */
struct release {
    int64_t fence;
    int64_t held_ms;
    int64_t holds; /* how many the owner still has */
    int64_t version;
    struct slice owner; /* not set where it is repeated */
    bool repeated;      /* it had ended before: this release was sent again */
    bool
        cancelled; /* the token was still waiting: it has left the queue, and nothing else is set */
};

enum locks_result {
    LOCKS_DONE,
    LOCKS_REPEATED,         /* acquire: the token had the hold already */
    LOCKS_LOCKED,           /* acquire: the holds there are do not admit it; `view` tells them */
    LOCKS_LIMIT_MISMATCH,   /* acquire: the lock has another limit; `view` tells it */
    LOCKS_TOKEN_RELEASED,   /* acquire: this token's hold was released already */
    LOCKS_NOT_HELD,         /* renew, release: the token has no live hold */
    LOCKS_TIMEOUT,          /* waiting: the wait has ended; `view` tells who holds the lock */
    LOCKS_CANCELLED,        /* waiting: a release with its token has taken it out of the queue */
    LOCKS_SUPERSEDED,       /* waiting: a later request with the same token has taken its place */
    LOCKS_DRAINING,         /* waiting: this server stops; the place in the queue is kept */
    LOCKS_TOO_MANY_WAITERS, /* waiting: the queue is full; `view.queue_length` tells */
    LOCKS_UPGRADE_CONFLICT, /* acquire: another owner waits to upgrade its shared hold already */
    LOCKS_UNCONFIRMED,      /* acquire, renew, ready: too few replicas have it; `error` says more */
    LOCKS_QUARANTINED,      /* acquire, waiting: nothing is granted now; see locks_quarantine */
    LOCKS_DAMAGED,          /* what Redis keeps of the name cannot be read; `error` says more */
    LOCKS_UNAVAILABLE,      /* Redis cannot be asked, or its answer was lost; `error` says more */
};

enum { LOCKS_RESULTS = LOCKS_UNAVAILABLE + 1 }; /* it is the last */

/* The answer to any operation; of the parts, only what the operation's comment names is set.
 * Valid during the callback. */
struct locks_reply {
    enum locks_result result;
    const char *error;
    struct attempt attempt;
    struct hold hold;
    int64_t confirmed_ms; /* of its TTL that went by until replicas had it */
    struct lock_view view;
    bool changed; /* watching: the version has passed the one asked about */
    struct release release;
    uint64_t heard; /* waiting: when this server heard of the grant, by uv_hrtime; 0: it only got
                     * to know by asking */
    struct {
        int64_t count; /* holds ended */
        int64_t version;
        bool cleared; /* nobody knows how many there were: it could not be read */
    } broken;
};

/* Runs once, from the loop, never before the operation's call has returned. */
typedef void locks_done(void *context, const struct locks_reply *reply);

/* A hold that was ended because its time was over. */
struct expiry {
    struct slice name;
    int64_t count;      /* 1, or of a crowd that expired at once how many more there were; then: */
    int64_t fence;      /* -1 */
    int64_t held_ms;    /* -1 */
    struct slice owner; /* absent */
    enum lock_mode mode;
};

struct tickets;

/* What the locks tell their owner, from the loop. Each may be NULL. */
struct locks_events {
    void *context;
    /* A script of ours has ended a hold as expired; told once, before that script's own answer.
     * Each hold granted or renewed here is looked at about half a second after its time is over,
     * even if nobody asks for the name. A hold that no client was told of is left out. `expiry` is
     * valid during the call, in which no lock may be asked for. */
    void (*expired)(void *context, const struct expiry *expiry);
    /* A quarantine of a shard has begun, been found to be longer, or ended. */
    void (*quarantined)(void *context, const struct quarantine *quarantine);
    /* A shard that is up has been looked at, and may be used. */
    void (*serving)(void *context, unsigned shard);
    /* So long after Redis was asked for a hold, its replicas have it, or do not. */
    void (*confirmed)(void *context, uint64_t nanoseconds, bool is_confirmed);
    /* The store is not as it should be for locks. Told once. */
    void (*warning)(void *context, const char *text);
    /* What Redis keeps under this key, of a lock or of Baton's own, cannot be read, and `error`
     * says why. Told each time. */
    void (*damaged)(void *context, struct slice key, const char *error);
    /* The store's own events, each told after the locks have dealt with it; with a context of its
     * own. */
    struct store_events store;
};

struct locks_options {
    uv_loop_t *loop;
    const struct redis_url *redis_url; /* used until locks_open returns */
    struct slice key_prefix;           /* copied */
    int64_t retention_ms;              /* how long a free name is remembered */
    int64_t waiter_lease_ms; /* how long waiters outlive a server that stopped vouching for them */
    int64_t claim_window_ms; /* how long a grant that nobody collects blocks the next */
    int64_t max_waiters;     /* of one name */
    int64_t replicas;        /* that are expected: confirming by as many is prepared now; 0: none */
    int64_t confirm_timeout_ms; /* how long it may take, from when Redis was asked for the hold */
    struct tickets *tickets; /* of all workers of the process, which they outlive; for a quorum */
    uint32_t process;        /* a random number; those that have the same one die together */
    int64_t quarantine_ms;   /* how long a quarantine is, or QUARANTINE_AUTO, _OFF */
    bool keeps_all; /* this Redis has all that it ever answered, also when it was started anew */
    struct locks_events events;
};

/* Who waits for locks of a quorum, over all workers of a process, in order of arrival. To be freed
 * when all workers have closed; takes NULL. From any thread. */
struct tickets *tickets_new(void);
void tickets_free(struct tickets *tickets);

/* Opens the store behind `redis_url` and the locks in it. This worker becomes a server among those
 * that share Redis, with an inbox of its own under a random name. Returns 0 or a negative errno. */
int locks_open(struct locks **ret, const struct locks_options *options);

/* Closes the store, then the locks, and calls `closed` once, if it is not NULL, from the loop. What
 * is under way is answered first. Takes NULL: then `closed` is not called. */
void locks_close(struct locks *locks, void (*closed)(void *context), void *context);

/* The store, to look at: which servers there are, and in what state. */
const struct store *locks_store(const struct locks *locks);

/* Whether the store can be asked, as far as is known. What failed because it cannot is told of when
 * this is known already, and before the store's event `down`. */
bool locks_has_store(const struct locks *locks);

/* For how many milliseconds yet the name will not be granted to anybody, as far as is known, and
 * why; 0: it may be now. Where the name is absent, the longest of all. */
int64_t locks_quarantine(const struct locks *locks, struct slice name,
                         enum quarantine_reason *ret_reason);

/* The same for whether anybody may be refused because of it: in a quorum nobody is while more than
 * half of the members are out of it. */
int64_t locks_pause(const struct locks *locks, enum quarantine_reason *ret_reason);

/* For each server of Redis that is in quarantine: sets *ret and moves *position on, which is 0 at
 * first. False where there are no more. */
bool locks_next_quarantine(const struct locks *locks, unsigned *position,
                           struct quarantine_state *ret);

/* `ended`: at so many servers of Redis there was a quarantine, and is none any more. With an
 * `error`, for clients, where it may go on. */
typedef void locks_quarantines_ended(void *context, unsigned ended, const char *error);

/* Ends each quarantine that has been noticed before its time, for all who share the Redis: others
 * know it within a second. What is noticed later begins another one. `done` runs once, from the
 * loop and never before this has returned. Returns false, and does nothing, where no server is
 * known. */
bool locks_end_quarantines(struct locks *locks, locks_quarantines_ended *done, void *context);

/* Where there are several servers (a Cluster, a quorum): how many of them grant nothing now, while
 * others may; else 0. */
unsigned locks_quarantined(const struct locks *locks);

/* By how much the clocks of the nodes of a Redis Cluster differ, at least; 0: by nothing that
 * matters. */
int64_t locks_clocks_apart(const struct locks *locks);

/* How many grants and renewals were not remembered, for want of memory: where such a hold expires,
 * that is not told before somebody asks for its name. */
uint64_t locks_left_out(const struct locks *locks);

/* How often something was met with that could not be read, see `damaged`. */
uint64_t locks_damages(const struct locks *locks);

/* To be called every second or so: tries once more to take back what Redis refused to. */
void locks_try_again(struct locks *locks);

/* Whether no grant is in doubt and nobody waits or watches: what a worker waits for before it ends.
 */
bool locks_are_settled(const struct locks *locks);

/* LOCKS_DONE and LOCKS_REPEATED set `hold` and `attempt`. A grant in doubt is LOCKS_UNAVAILABLE,
 * and is taken back once Redis can be asked again, as by locks_take_back; so is what is
 * LOCKS_UNCONFIRMED. */
void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context);

/* Takes back a hold that its client cannot have learnt of, because the reply did not reach it. It
 * stays for the token's other requests that were told of it, until they take it back, too. With a
 * `keep_ms` its place at the head is kept that long.
 */
void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt, int64_t keep_ms);

/* Whoever acquires, for as long as the request is under way. */
struct acquirer {
    void *context;                       /* of `done` as well */
    bool (*is_connected)(void *context); /* whether the client is still there */
    /* May be NULL: from now on it is in the queue of this name. Of several names there may be
     * queues one after the other. */
    void (*queued)(void *context, struct slice name);
    /* Of several names alone, and may be NULL: this one is held now, DONE or REPEATED. Where the
     * others are not to be had, or not confirmed, it is given back. */
    void (*granted)(void *context, struct slice name, const struct locks_reply *reply);
};

/* A request that waits for a lock. */
struct waiter;

/* As locks_acquire, but where the lock is held, waits for it in the queue for `wait_ms`, which is
 * not 0. Further results: LOCKS_TIMEOUT, _CANCELLED, _SUPERSEDED,
 * _DRAINING, _TOO_MANY_WAITERS. When its turn
 * has come, `is_connected` is asked whether the client is still there; if not, the grant goes to
 * the next at once (and the client's hang-up is expected to be told by locks_abandon). The waiter
 * is gone once `done` has run. */
struct waiter *locks_wait(struct locks *locks, const struct acquire *acquire,
                          const struct acquirer *acquirer, locks_done *done);

/* The client has gone: the waiter leaves the queue (or keeps its place for keep_ms), what was
 * granted goes to the next, and `done` will not be called. */
void locks_abandon(struct waiter *waiter);

/* A request that waits for a name to change. */
struct watch;

/* Answers LOCKS_DONE with `view` and `changed`: at once if the name's version is greater than
 * `after`, else when it becomes so, or with `changed` false after `wait_ms`. `token` may be
 * absent. */
struct watch *locks_watch(struct locks *locks, struct slice name, struct slice token, int64_t after,
                          int64_t wait_ms, locks_done *done, void *context);

/* Nobody wants to know any more; `done` will not be called. */
void locks_unwatch(struct watch *watch);

/* How far a watch of a prefix has come. Zeroed: it knows nothing, and is told all that is held. */
struct prefix_position {
    int64_t after;     /* all changes up to this version are known... */
    struct slice name; /* ...but of those at `after`, where this is given, only names up to it... */
    int64_t since;     /* ...and where this is greater: all that was held, which began to be told at
                          this time. Of names that are free, changes after it are news. */
};

/* As locks_watch for all names that begin with `prefix` (it may be empty): the listener hears
 * `each` for every lock whose change is news at `from`, about `limit` (1 or more) of them at most,
 * those that changed first as far as that is known, then `done` once; nothing within `wait_ms`:
 * `done` alone. `reached` is where to go on next time, and lasts for the call: no change is missed,
 * one may be told twice, and what the limit left out is told then. `complete` is false where `from`
 * is older than what is remembered of free names: then what is held is told from the beginning, and
 * what is not told may have been released. Names that changed in the same microsecond are told
 * together, beyond the limit. Costs memory for the names held under the prefix and a few thousand
 * that became free last, a scan of Redis' keys at first, and as long as anybody watches a prefix
 * and for 10 s after, one script for each of its names that changes. */
struct prefix_watch;

struct prefix_listener {
    void *context;
    /* Which names there are for it: the others are left out as if nothing happened to them. NULL:
     * all. */
    bool (*wants)(void *context, struct slice name);
    /* `*shared` is NULL for the first listener that hears of this view, then what one has left
     * there for the others: it goes to free(3) when all have heard. */
    void (*each)(void *context, struct slice name, const struct lock_view *view, char **shared);
    void (*done)(void *context, enum locks_result result, const struct prefix_position *reached,
                 bool complete, const char *error);
};

struct prefix_watch *locks_watch_prefix(struct locks *locks, struct slice prefix,
                                        const struct prefix_position *from, int64_t wait_ms,
                                        size_t limit, const struct prefix_listener *listener);

/* Nobody wants to know any more; the listener will not be called. */
void locks_unwatch_prefix(struct prefix_watch *watch);

/* Renews a hold every third of its TTL until it is told to stop, or finds the hold lost. Where
 * Redis cannot be asked, it tries again every tenth of the TTL. */
struct renewer;

struct renewer_events {
    void *context;
    void (*renewed)(void *context, const struct hold *hold); /* may be NULL */
    /* The hold is gone, or Redis could not be asked until it may have ended. The renewer is freed
     * when this has returned. `why` is a constant text. */
    void (*lost)(void *context, const char *why);
};

/* `ttl_ms` is what remains of the hold now, by the reply that told of it; it is renewed to the TTL
 * that it was last given. Such a renewal is the server's own: until the client itself renews or
 * repeats its request, the hold may still be taken back. Where `replicas` are asked for, only what
 * they confirm counts as renewed. The texts are copied. */
struct renewer *renewer_start(struct locks *locks, struct slice name, struct slice token,
                              int64_t ttl_ms, int64_t replicas,
                              const struct renewer_events *events);

/* Stops renewing and frees the renewer, in which no event is called any more; the hold stays for
 * what remains of its TTL. To be called on the renewer's own events as well. */
void renewer_stop(struct renewer *renewer);

/* Several names, all or none. They are taken one after the other in the order of their bytes, so
 * that two callers cannot wait for each other, and of two that do not wait one gets all; until the
 * last is granted, the earlier ones are held for the claim window only, and kept alive. A name that
 * the token holds already counts as granted; it gets the TTL only where that is more than it has,
 * and a refusal leaves it as it is, while what was granted to this request is given back without a
 * trace. Where a hold is lost on the way, all are given back: LOCKS_UNAVAILABLE. */
struct several;

struct several_reply {
    /* Of acquiring as of locks_wait, REPEATED where each was; of renewing and releasing DONE,
     * NOT_HELD or UNAVAILABLE. */
    enum locks_result result;
    const char *error;
    size_t count; /* names, sorted */
    struct {
        struct slice name;
        enum locks_result result; /* DONE or REPEATED; DONE, NOT_HELD, UNCONFIRMED or UNAVAILABLE */
        struct attempt attempt;   /* for locks_take_back, should the reply not reach the client */
        struct hold hold;
        struct release release;
    } each[LOCKS_SEVERAL_MOST];
    size_t refused;        /* acquire: which of them was refused or lost; `view` tells of it */
    struct lock_view view; /* as of locks_reply */
};

typedef void several_done(void *context, const struct several_reply *reply);

/* `acquire->name` and `keep_ms` are not used; `names` are 1 to LOCKS_SEVERAL_MOST, all different;
 * `wait_ms` (may be 0) is for all together. Everything is copied. It is gone once `done` has run.
 */
struct several *locks_acquire_several(struct locks *locks, const struct slice *names, size_t count,
                                      const struct acquire *acquire,
                                      const struct acquirer *acquirer, several_done *done);

/* The client has gone, at any moment before `done`: all is given back, and `done` will not be
 * called. */
void several_abandon(struct several *several);

/* Each name is renewed or released, whatever becomes of the others; NOT_HELD if any was, before
 * that UNCONFIRMED, before that UNAVAILABLE. */
void locks_renew_several(struct locks *locks, const struct slice *names, size_t count,
                         struct slice token, int64_t ttl_ms, int64_t replicas, several_done *done,
                         void *context);
void locks_release_several(struct locks *locks, const struct slice *names, size_t count,
                           struct slice token, several_done *done, void *context);

/* This server is about to stop: everyone who waits is answered LOCKS_DRAINING and keeps the place
 * in the queue, everyone who watches gets what there is. New ones are answered in the same way. */
void locks_drain(struct locks *locks);

/* Sets what remains of a hold to `ttl_ms`, or for 0 to the TTL it was last given. LOCKS_DONE sets
 * `hold`. LOCKS_UNCONFIRMED: fewer than `replicas` of Redis have it, and what they have of the hold
 * is what was told of it before. */
void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 int64_t replicas, locks_done *done, void *context);

/* LOCKS_DONE sets `release`, the same again for a repeated release. */
void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context);

/* As locks_release, for a hold that was acquired by a connection, which has ended: `attempt` is
 * that of its request. LOCKS_NOT_HELD where a later connection with the same token has the hold. */
void locks_release_connection(struct locks *locks, struct slice name, struct slice token,
                              const struct attempt *attempt, locks_done *done, void *context);

/* Ends every hold of the name; where what Redis keeps of it cannot be read, clears it away.
 * LOCKS_DONE sets `broken`. */
void locks_break(struct locks *locks, struct slice name, locks_done *done, void *context);

/* LOCKS_DONE sets `view`. `token` may be absent. The view has LOCK_WAITERS_SHOWN waiters at most;
 * if `waiters` is another number, that many, LOCK_WAITERS_MOST at most (a quorum shows as many as
 * ever).
 */
void locks_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                   locks_done *done, void *context);

/* Who is at this place in the line, from 0; false where the view shows nobody there. To be asked
 * during the callback that has got the view. */
bool locks_waiter(const struct lock_view *view, size_t position, struct waiter_view *ret);

/* Whether a grant could be stored now, and confirmed by `replicas`: LOCKS_DONE, LOCKS_UNCONFIRMED
 * or LOCKS_UNAVAILABLE. */
void locks_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context);

/* As store_primary and store_trouble. */
const char *locks_primary(const struct locks *locks);
const char *locks_trouble(const struct locks *locks);

/* One page of the names that are held. The listener hears `each` for every lock, then `done`, where
 * `next` is the cursor to go on with, absent at the end. A page may have fewer than `limit` locks,
 * even none, and still not be the last. */
struct locks_listener {
    void *context;
    bool (*wants)(void *context, struct slice name); /* the others are left out; NULL: all */
    void (*each)(void *context, struct slice name, const struct lock_view *view);
    void (*skipped)(void *context, struct slice name); /* it cannot be read; may be NULL */
    void (*done)(void *context, enum locks_result result, struct slice next, const char *error);
};

/* `prefix` is how the names begin; `cursor` is absent for the first page, `limit` 1 to
 * LOCKS_LIST_LONGEST. The listener is copied; no name that is held all the while is missed, one
 * that comes or goes may be. Returns 0, or -EINVAL for a cursor that no listing gave, and then
 * the listener hears nothing. */
int locks_list(struct locks *locks, struct slice prefix, struct slice cursor, size_t limit,
               const struct locks_listener *listener);

/* A part of a count of all holds there are. */
struct locks_count {
    enum locks_result result; /* DONE or UNAVAILABLE, and then nothing else is set */
    struct slice cursor;      /* to go on with; "0": this was the last part */
    int64_t keys;             /* looked at, about */
    int64_t holds;            /* found among them */
};

typedef void locks_counted(void *context, const struct locks_count *count);

/* Counts on where `cursor` says, "0" at first. No hold that lives all the while is left out; where
 * Redis makes its table larger or smaller meanwhile, one may be counted twice. Changes nothing. */
void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context);

#endif
