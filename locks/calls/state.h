/* state.h: struct locks, the state of a worker's locks. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_STATE_H
#define BATON_LOCKS_CALLS_STATE_H

#include "base/decimal.h"
#include "locks/calls/redelivery.h"
#include "locks/locks.h"

#include <sys/queue.h>

enum { WORKER_LENGTH = 16 }; /* characters: 8 for the process, then 8 for the worker */

struct engine;
struct expiries;
struct guard;
struct libraries;
struct quorum_state;
struct prefixes;
struct subscriptions;

/* The names with a renewer: see waiting/renewer.c. */
struct renewed_names {
    void *by_key; /* of base/tree.h */
    LIST_HEAD(renewed_name_list, renewed_name) list;
};

/* What scripts get as text; the times in ms. */
struct locks_texts {
    char key_prefix[KEY_PREFIX_LENGTH];
    char worker[WORKER_LENGTH + 1]; /* this worker's name, unique in Redis */
    char waiter_lease[DECIMAL_TEXT];
    char claim_window[DECIMAL_TEXT];
    char max_waiters[DECIMAL_TEXT];
};

struct locks {
    struct locks_options options; /* its key_prefix points to `texts`; its redis_url is NULL */
    struct locks_texts texts;
    const struct engine *engine; /* see engine.h */
    struct store *store;
    uv_loop_t *loop;
    void (*engine_closed)(struct locks *locks);
    void (*closed)(void *context); /* see locks_close; may be NULL */
    void *closed_context;
    uint64_t damages;              /* see locks_damages */
    char rights[STORE_ERROR_TEXT]; /* the missing right, by script_ready's last reply; "": none */
    bool draining;
    bool check_again; /* a check had no answer from Redis, and is due again */
    uint64_t next_attempt;
    struct guard *guard; /* see locks/quarantine/guard.h */
    struct redeliveries redeliveries;
    struct subscriptions *subscriptions;
    struct expiries *expiries;
    struct renewed_names renewed_names;
    struct libraries *libraries; /* NULL: the check is off */
    struct quorum_state *quorum; /* of the quorum engine: see quorum/state.h */
    struct prefixes *prefixes;   /* NULL until a prefix is watched */
};

#endif
