/* lock_event.h: one event in the life of a lock, to be counted, logged and summed up. */
#ifndef BATON_API_STATS_LOCK_EVENT_H
#define BATON_API_STATS_LOCK_EVENT_H

#include "api/http/exchange.h"

/* How an acquire ends. Each name of a request gets one of these; of several names, those after a
 * refused one get none, since they were not asked for. X(name, word). */
#define ACQUIRE_ENDS(X)                                                                            \
    X(LOCK_EVENT_GRANTED, "granted")                                                               \
    X(LOCK_EVENT_REPEATED, "repeated") /* the token has the hold already */                        \
    X(LOCK_EVENT_LOCKED, "locked")                                                                 \
    X(LOCK_EVENT_TIMEOUT, "timeout")                                                               \
    X(LOCK_EVENT_ABANDONED, "abandoned")   /* its client went while it waited for an answer */     \
    X(LOCK_EVENT_CANCELLED, "cancelled")   /* a release with its token has ended the wait */       \
    X(LOCK_EVENT_SUPERSEDED, "superseded") /* a later request with its token waits in its place */ \
    X(LOCK_EVENT_DRAINED, "drained")       /* this batond stops; the place in the queue is kept */ \
    X(LOCK_EVENT_TOO_MANY_WAITERS, "too_many_waiters") /* the queue is full */                     \
    X(LOCK_EVENT_UPGRADE_CONFLICT, "upgrade_conflict")                                             \
    X(LOCK_EVENT_IN_USE, "token_in_use") /* its token was used for another request */              \
    X(LOCK_EVENT_SPENT, "spent") /* its token was released, or its wait cancelled, before */       \
    X(LOCK_EVENT_UNCONFIRMED, "unconfirmed") /* too few replicas had it: what was granted is taken \
                                              * back */                                            \
    X(LOCK_EVENT_QUARANTINED, "quarantined") /* Redis may have lost holds that still run */        \
    X(LOCK_EVENT_UNAVAILABLE, "unavailable")

/* How a hold ends. One batond of all reports each end, once. */
#define HOLD_ENDS(X)                                                                               \
    X(LOCK_EVENT_RELEASED, "released")                                                             \
    X(LOCK_EVENT_EXPIRED, "expired")                                                               \
    X(LOCK_EVENT_FORCED, "forced")                                                                 \
    X(LOCK_EVENT_TAKEN_BACK, "taken_back") /* its client did not get it, or not all names */

#define OTHER_LOCK_EVENTS(X)                                                                       \
    X(LOCK_EVENT_QUEUED, "queued") /* an acquire waits from now on, until one of its ends */       \
    X(LOCK_EVENT_RENEWED, "renewed")                                                               \
    X(LOCK_EVENT_NOT_HELD, "not_held") /* renewed or released too late: the hold had ended */      \
    X(LOCK_EVENT_REOPENED, "reopened") /* a client ended a quarantine; of no name */

#define LOCK_EVENT_KIND(name, word) name,
enum lock_event_kind {
    ACQUIRE_ENDS(LOCK_EVENT_KIND) HOLD_ENDS(LOCK_EVENT_KIND) OTHER_LOCK_EVENTS(LOCK_EVENT_KIND)
        LOCK_EVENT_KINDS,
    LOCK_EVENT_ACQUIRE_LAST = LOCK_EVENT_UNAVAILABLE, /* the first is GRANTED, 0 */
    LOCK_EVENT_END_FIRST = LOCK_EVENT_RELEASED,
    LOCK_EVENT_END_LAST = LOCK_EVENT_TAKEN_BACK,
};
#undef LOCK_EVENT_KIND

/* An event. Its texts are valid during the callback alone. A number that does not apply or is not
 * known is -1; such a text is absent. */
struct lock_event {
    enum lock_event_kind kind;
    struct slice name;
    struct slice owner;     /* as the client gave it */
    struct slice principal; /* of the hold or request, absent without a name. Of a break: the
                             * hold's; the exchange has the breaker */
    struct slice reason;    /* as given */
    struct slice request_id;
    struct slice trace_id;
    enum lock_mode mode; /* unknown for RELEASED */
    int64_t fence;
    int64_t ttl_ms;  /* of a hold that was granted, repeated or renewed: now. If it was granted with
                      * others: when all are held */
    int64_t held_ms; /* of a hold's end: how long it was held */
    int64_t waited_us; /* of an acquire's end: since QUEUED; -1: it never waited */
    int64_t count;     /* of holds: 1, or more if several ended at once. Of REOPENED: of nodes */
};

/* The word for a kind, as above. */
const char *lock_event_word(enum lock_event_kind kind);

/* Makes an event with a kind and a name; the rest is unknown. */
struct lock_event lock_event_of(enum lock_event_kind kind, struct slice name);

/* Sets the fields of a hold from its release, which must not be a repeated one. */
void lock_event_set_release(struct lock_event *event, const struct release *release);

/* The source of a request, kept for events after the end of its exchange. The API outlives it. */
struct asker {
    struct api *api;
    struct principal *principal; /* a reference */
    char request_id[EXCHANGE_REQUEST_ID_LENGTH + 1];
    char trace_id[EXCHANGE_TRACE_ID_LENGTH + 1];
};

struct asker asker_of(const struct exchange *exchange);
void asker_clear(struct asker *asker);

/* Reports an event of an exchange that has ended. */
void asker_report(const struct asker *asker, struct lock_event event);

/* Each of these reports an event of the exchange to struct api's `on_lock_event`. */

/* An acquire waits. A request for several names waits for one of them at a time. */
void lock_event_queued(struct exchange *exchange, struct slice name);

/* An acquire has ended. `hold` is NULL if there is none. */
void lock_event_acquired(struct exchange *exchange, struct slice name, enum locks_result result,
                         const struct hold *hold);

/* The client has gone before its acquire ended. */
void lock_event_abandoned(struct exchange *exchange);

/* All of exchange->grants, reported as granted before, were taken back. */
void lock_event_all_taken_back(struct exchange *exchange);

/* A renewal has ended. LOCKS_UNAVAILABLE and _UNCONFIRMED are not reported. */
void lock_event_renewed(struct exchange *exchange, struct slice name, enum locks_result result,
                        const struct hold *hold);

/* A release has ended. LOCKS_UNAVAILABLE, _UNCONFIRMED and a repeated release are not reported. */
void lock_event_released(struct exchange *exchange, struct slice name, enum locks_result result,
                         const struct release *release);

/* A hold has expired. */
void lock_event_expired(const struct api *api, const struct expiry *expiry);

/* The lock was broken: an event for each hold that `reply` shows, and one for the others. */
void lock_event_forced(struct exchange *exchange, const struct locks_reply *reply);

/* An operator has ended the quarantine of `count` servers of Redis. */
void lock_event_reopened(struct exchange *exchange, int64_t count);

#endif
