/* locks.h: what can be done with locks: each operation is one script in Redis and one callback. */
#ifndef BATON_LOCKS_LOCKS_H
#define BATON_LOCKS_LOCKS_H

#include "locks/name.h"
#include "locks/token.h"
#include "redis/store.h"

/* The locks as one worker sees them. Used on the thread of its store's loop alone; it keeps no
 * lock in memory, only what is under way. */
struct locks;

enum {
    LOCK_OWNER_LENGTH = 128, /* bytes, at most */
    LOCK_META_LENGTH = 1024, /* bytes of JSON, at most */
    LOCK_LIMIT_HIGHEST = 1000000,
    LOCK_HOLDERS_SHOWN = 10,
    LOCK_ATTEMPT_LENGTH = 16,  /* characters */
    LOCKS_LIST_LONGEST = 1000, /* locks in a page, at most */
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
    bool token_is_new; /* made by this server for this request: no earlier one can have used it */
    struct slice owner;
    enum lock_mode mode;
    int64_t limit;     /* 0: none; only with LOCK_SHARED */
    int64_t ttl_ms;    /* of the hold */
    struct slice meta; /* a JSON object as text, or absent */
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

/* What anybody gets to know of a name. */
struct lock_view {
    int64_t version;
    int64_t hold_count;
    int64_t limit; /* of the shared holds there are; 0: none */
    int64_t queue_length;
    bool mine; /* the token that was asked about holds */
    struct {
        int64_t fence; /* 0 where nothing is known of an earlier hold */
        struct slice reason;
        int64_t ago_ms;
    } last_release;
    struct holder holders[LOCK_HOLDERS_SHOWN]; /* the one that ends soonest first */
    size_t holder_count;                       /* of those shown */
};

/* The end of a hold by its owner. */
struct release {
    int64_t fence;
    int64_t held_ms;
    int64_t holds; /* how many the owner still has */
    int64_t version;
    bool
        cancelled; /* the token was still waiting: it has left the queue, and nothing else is set */
};

enum locks_result {
    LOCKS_DONE,
    LOCKS_REPEATED,       /* acquire: the token had the hold already */
    LOCKS_LOCKED,         /* acquire: the holds there are do not admit it; `view` tells them */
    LOCKS_LIMIT_MISMATCH, /* acquire: the lock has another limit; `view` tells it */
    LOCKS_TOKEN_RELEASED, /* acquire: this token's hold was released already */
    LOCKS_NOT_HELD,       /* renew, release: the token has no live hold */
    LOCKS_UNAVAILABLE,    /* Redis cannot be asked, or its answer was lost; `error` says more */
};

/* The answer to any operation; of the parts, only what the operation's comment names is set.
 * Valid during the callback. */
struct locks_reply {
    enum locks_result result;
    const char *error;
    struct attempt attempt;
    struct hold hold;
    struct lock_view view;
    struct release release;
    struct {
        int64_t count; /* holds ended */
        int64_t version;
    } broken;
};

/* Runs once, from the loop, never before the operation's call has returned. */
typedef void locks_done(void *context, const struct locks_reply *reply);

/* `key_prefix` is copied. `store` outlives the locks; its `up` event is to be passed to
 * locks_store_is_up. Returns 0 or -ENOMEM. */
int locks_open(struct locks **ret, struct store *store, struct slice key_prefix,
               int64_t retention_ms);

/* To be called when every operation has been answered. Takes NULL. */
void locks_close(struct locks *locks);

/* Takes back the grants that were in doubt when the connection was lost. */
void locks_store_is_up(struct locks *locks);

/* To be called every second or so: tries once more to take back what Redis refused to. */
void locks_try_again(struct locks *locks);

/* Whether no grant is in doubt: what a worker waits for before it ends. */
bool locks_are_settled(const struct locks *locks);

/* LOCKS_DONE and LOCKS_REPEATED set `hold` and `attempt`. A grant in doubt is LOCKS_UNAVAILABLE,
 * and is taken back once Redis can be asked again unless the token was used again by then. */
void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context);

/* Takes back a grant that its client cannot have learnt of, because the reply did not reach it.
 * Does nothing if the token came again. */
void locks_take_back(struct locks *locks, struct slice name, struct slice token,
                     const struct attempt *attempt);

/* Sets what remains of a hold to `ttl_ms`, or for 0 to the TTL it was last given. LOCKS_DONE sets
 * `hold`. */
void locks_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                 locks_done *done, void *context);

/* LOCKS_DONE sets `release`, the same again for a repeated release. */
void locks_release(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context);

/* Ends every hold of the name. LOCKS_DONE sets `broken`. */
void locks_break(struct locks *locks, struct slice name, locks_done *done, void *context);

/* `token` may be absent. LOCKS_DONE sets `view`. */
void locks_inspect(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                   void *context);

/* Whether a grant could be stored now: LOCKS_DONE or LOCKS_UNAVAILABLE. */
void locks_ready(struct locks *locks, locks_done *done, void *context);

/* One page of the names that are held. The listener hears `each` for every lock, then `done`, where
 * `next` is the cursor to go on with, absent at the end. A page may have fewer than `limit` locks,
 * even none, and still not be the last. */
struct locks_listener {
    void *context;
    void (*each)(void *context, struct slice name, const struct lock_view *view);
    void (*done)(void *context, enum locks_result result, struct slice next, const char *error);
};

/* `prefix` is how the names begin, `cursor` absent for the first page, `limit` 1 to
 * LOCKS_LIST_LONGEST. The listener is copied; no name that is held all the while is missed, one
 * that comes or goes may be. Returns 0, or -EINVAL for a cursor that no listing gave, and then
 * the listener hears nothing. */
int locks_list(struct locks *locks, struct slice prefix, struct slice cursor, size_t limit,
               const struct locks_listener *listener);

#endif
