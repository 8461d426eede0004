/* happening.h: what happens to locks, one thing at a time, for whoever counts it, logs it or sums
 * it up. */
#ifndef BATON_API_HAPPENING_H
#define BATON_API_HAPPENING_H

#include "api/http/exchange.h"

/* How an acquire ends: of a request each name gets one of these, but for several names, of which
 * those after a refused one were not asked for. X(name, word). */
#define ACQUIRE_ENDS(X)                                                                            \
    X(HAPPENING_GRANTED, "granted")                                                                \
    X(HAPPENING_REPEATED, "repeated") /* the token has the hold already */                         \
    X(HAPPENING_LOCKED, "locked")                                                                  \
    X(HAPPENING_TIMEOUT, "timeout")                                                                \
    X(HAPPENING_ABANDONED, "abandoned")   /* its client went while it waited for an answer */      \
    X(HAPPENING_CANCELLED, "cancelled")   /* a release with its token has ended the wait */        \
    X(HAPPENING_SUPERSEDED, "superseded") /* a later request with its token waits in its place */  \
    X(HAPPENING_DRAINED, "drained")       /* this batond stops; the place in the queue is kept */  \
    X(HAPPENING_TOO_MANY_WAITERS, "too_many_waiters") /* the queue is full */                      \
    X(HAPPENING_LIMIT_MISMATCH, "limit_mismatch")                                                  \
    X(HAPPENING_UPGRADE_CONFLICT, "upgrade_conflict")                                              \
    X(HAPPENING_SPENT, "spent") /* its token was released, or its wait cancelled, before */        \
    X(HAPPENING_UNCONFIRMED, "unconfirmed") /* too few replicas had it: what was granted is taken  \
                                             * back */                                             \
    X(HAPPENING_QUARANTINED, "quarantined") /* Redis may have lost holds that still run */         \
    X(HAPPENING_UNAVAILABLE, "unavailable")

/* How a hold ends. Each end is told once in all, by one of the batonds. */
#define HOLD_ENDS(X)                                                                               \
    X(HAPPENING_RELEASED, "released")                                                              \
    X(HAPPENING_EXPIRED, "expired")                                                                \
    X(HAPPENING_FORCED, "forced")                                                                  \
    X(HAPPENING_TAKEN_BACK, "taken_back") /* its client did not learn of it, or not of all names   \
                                           */

#define OTHER_HAPPENINGS(X)                                                                        \
    X(HAPPENING_QUEUED, "queued") /* an acquire waits from now on, until one of its ends */        \
    X(HAPPENING_RENEWED, "renewed")                                                                \
    X(HAPPENING_NOT_HELD, "not_held") /* renewed or released too late: the hold had ended */       \
    X(HAPPENING_REOPENED, "reopened") /* a quarantine was ended by somebody; of no name */

#define HAPPENING_KIND(name, word) name,
enum happening_kind {
    ACQUIRE_ENDS(HAPPENING_KIND) HOLD_ENDS(HAPPENING_KIND) OTHER_HAPPENINGS(HAPPENING_KIND)
        HAPPENING_KINDS,
    HAPPENING_ACQUIRE_LAST = HAPPENING_UNAVAILABLE, /* the first is GRANTED, 0 */
    HAPPENING_END_FIRST = HAPPENING_RELEASED,
    HAPPENING_END_LAST = HAPPENING_TAKEN_BACK,
};
#undef HAPPENING_KIND

/* One thing that happened. The texts are only good while it is told; a number that does not apply
 * or is not known is -1, such a text absent. */
struct happening {
    enum happening_kind kind;
    struct slice name;
    struct slice owner;     /* as its client calls it */
    struct slice principal; /* whose hold or request it is, absent for who has no name; for a break,
                               whoever asked for it stands in the exchange */
    struct slice reason;    /* why, as it was given */
    struct slice request_id;
    struct slice trace_id;
    enum lock_mode mode; /* not known of RELEASED */
    int64_t fence;
    int64_t ttl_ms;    /* of a hold that was granted, repeated or renewed: what it has now; granted
                        * as one of several: what it has when all are held */
    int64_t held_ms;   /* of a hold's end: for how long it was held */
    int64_t waited_us; /* of an acquire's end: since it was QUEUED; -1: it never was */
    int64_t count;     /* how many holds this tells of: 1, but for those that ended in a crowd; of
                        * REOPENED: servers of Redis */
};

/* The word for a kind, as above. */
const char *happening_word(enum happening_kind kind);

/* A happening in which nothing is known but its kind and name. */
struct happening happening_of(enum happening_kind kind, struct slice name);

/* Sets owner and principal from an owner as the locks know it. */
void happening_set_owner(struct happening *happening, struct slice stored_owner);

/* Sets what is known of a hold by its release, which is not a repeated one. */
void happening_set_release(struct happening *happening, const struct release *release);

/* Whoever asked, as it is told of after the end of its exchange; not after that of the API. */
struct asker {
    struct api *api;
    struct principal *principal; /* a reference */
    char request_id[EXCHANGE_REQUEST_ID_LENGTH + 1];
    char trace_id[EXCHANGE_TRACE_ID_LENGTH + 1];
};

struct asker asker_of(const struct exchange *exchange);
void asker_clear(struct asker *asker);

/* Tells of what was asked for by an exchange that is no more. */
void asker_tell(const struct asker *asker, struct happening happening);

/* Each of these tells struct api's `happened` on the exchange's behalf. */

/* An acquire waits. Of several names one is waited for at a time. */
void happening_queued(struct exchange *exchange, struct slice name);

/* It has ended; the hold only where there is one, else NULL. */
void happening_acquired(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct hold *hold);

/* Its client has gone before that. */
void happening_abandoned(struct exchange *exchange);

/* What was told of as granted was taken back, with all of exchange->grants. */
void happening_all_taken_back(struct exchange *exchange);

/* The end of a renewal; LOCKS_UNAVAILABLE and _UNCONFIRMED are not told. */
void happening_renewed(struct exchange *exchange, struct slice name, enum locks_result result,
                       const struct hold *hold);

/* The end of a release, likewise; one that was sent again is not told either. */
void happening_released(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct release *release);

/* A hold was found to have expired. */
void happening_expired(const struct api *api, const struct expiry *expiry);

/* The name was broken, and so many holds ended. `is_cleared`: it could not be read how many. */
void happening_forced(struct exchange *exchange, int64_t count, bool is_cleared);

/* The quarantine of so many servers of Redis was ended, for this reason. */
void happening_reopened(struct exchange *exchange, int64_t count);

#endif
