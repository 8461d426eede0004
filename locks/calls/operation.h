/* operation.h: one operation under way: its script's arguments on the way to Redis, its reply on
 * the way back. Internal to locks/. */
#ifndef BATON_LOCKS_OPERATION_H
#define BATON_LOCKS_OPERATION_H

#include "locks/calls/ask.h"
#include "locks/locks.h"
#include "locks/types/number_text.h"
#include "locks/types/server_name.h"
#include "locks/types/stamp.h"
#include "locks/waiting/doubt.h"
#include "locks/waiting/expiries.h"
#include "locks/waiting/subscription.h"

struct engine;
struct guard;
struct majority;
struct prefixes;

struct locks {
    const struct engine *engine; /* see engine.h */
    void (*closed)(struct locks *locks);
    struct store *store;
    uv_loop_t *loop;
    char key_prefix[KEY_PREFIX_LENGTH];
    size_t key_prefix_length;
    char server[SERVER_LENGTH + 1]; /* what this worker is called among all that share Redis */
    char waiter_lease[NUMBER_TEXT]; /* these as arguments of scripts; milliseconds */
    char claim_window[NUMBER_TEXT];
    char max_waiters[NUMBER_TEXT];
    int64_t most_waiters; /* of one name: the same as a number */
    int64_t retention_ms;
    int64_t waiter_lease_ms;
    int64_t claim_window_ms;
    int64_t confirm_timeout_ms;
    void (*expired)(void *context, const struct expiry *expiry); /* may be NULL */
    void (*serving)(void *context, unsigned part);
    void (*confirmed)(void *context, uint64_t nanoseconds, bool is_confirmed);
    void (*damaged)(void *context, struct slice key, const char *error);
    void *expired_context;         /* of all four */
    uint64_t damages;              /* see locks_damages */
    char rights[STORE_ERROR_TEXT]; /* what is missing, by the last answer of script_ready; "": none
                                    */
    bool draining;
    bool check_again; /* Redis failed to answer what is to be asked once more */
    uint64_t next_attempt;
    struct guard *guard; /* see locks/quarantine/guard.h */
    struct doubts doubts;
    struct subscriptions subscriptions;
    struct expiries expiries;
    struct majority *majority; /* what the engine of quorums keeps; see majority.h */
    struct prefixes *prefixes; /* NULL while no prefix was ever watched */
};

/* Reads a script's reply into `ret`; false where it is not of the expected shape. */
typedef bool operation_reader(const struct value *value, struct locks_reply *ret);

/* An operation that has to know more than how to read its reply embeds this as its first member. */
struct operation {
    struct locks *locks;
    operation_reader *read;
    locks_done *done;
    void *context;
};

/* Runs `script` for `name`, whose ARGV is the stamp and then `arguments`, and answers through
 * locks_done: LOCKS_UNAVAILABLE where the store has no reply, else what `read` makes of it. */
void operation_run(struct locks *locks, const struct script *script, struct slice name,
                   const struct slice *arguments, size_t argument_count, operation_reader *read,
                   locks_done *done, void *context);

/* What a store's result means, for operations that have a callback of their own: reads the reply,
 * or sets LOCKS_UNAVAILABLE or _DAMAGED, and `error`. */
void operation_read(const struct store_result *result, operation_reader *read,
                    struct locks_reply *ret);

/* Why there is no answer, as far as a client may know it: where Redis is and what ails it is for
 * batond's own log. */
const char *unavailable_because(const struct store_result *result);

/* LOCKS_DAMAGED or _UNAVAILABLE, for a result that is no reply that could be read; sets `error`. */
struct locks_reply reply_unanswered(const struct store_result *result);

/* The script's key for a name. */
struct slice operation_key(const struct locks *locks, struct slice name, char key[KEY_LENGTH]);

/* Whether element 0 of a reply is this word. */
bool reply_says(const struct value *value, const char *word);

/* The error of a name whose record a script could read, and read_view cannot. */
#define VIEW_UNREADABLE "what Redis keeps of it cannot be read (a text or number in it is none)"

/* The parts of replies that several scripts share, as shared/3-queue.lua writes them: `told` from
 * element 1 on, and `view`. False where something is missing, of another kind, or nothing that was
 * ever let in: who writes to Redis by other ways must not write behind the end of a buffer here. */
bool read_fence(const struct value *value, int64_t *ret);
bool read_passed(const struct value *value, int64_t *ret);
bool read_owner(const struct value *value, struct slice *ret);
bool read_hold(const struct value *value, struct hold *ret);
bool read_release(const struct value *value, struct release *ret);
bool read_view(const struct value *value, struct lock_view *ret);

#endif
