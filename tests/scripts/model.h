/* model.h: what the contract says of one name, in plain C, to compare the scripts with. It is told
 * the time, and answers each operation as its script has to. */
#ifndef BATON_TESTS_SCRIPTS_MODEL_H
#define BATON_TESTS_SCRIPTS_MODEL_H

#include "tests/scripts/scripts.h"

enum { MODEL_MOST = 256, MODEL_TOKEN = 16 };

struct model_hold {
    char token[MODEL_TOKEN];
    char owner[MODEL_TOKEN];
    char attempt[MODEL_TOKEN]; /* "" while unclaimed, "repeated" once it came again */
    bool shared;
    int64_t fence;
    int64_t since;
    int64_t ends; /* of a waiter: its lease */
    int64_t ttl_ms;
    int64_t limit;
    int64_t claim_ms;
};

struct model_release {
    char token[MODEL_TOKEN];
    int64_t fence;
    int64_t at;
    int64_t held_ms;
    int64_t holds;
};

struct model {
    bool known; /* it has keys */
    int64_t retention_us;
    int64_t version;
    struct model_hold holds[MODEL_MOST]; /* the one that ends soonest first */
    size_t hold_count;
    struct model_hold waiters[MODEL_MOST]; /* the first to arrive first */
    size_t waiter_count;
    struct model_release last;
    char last_reason[16];
    bool last_is_repeatable;
    struct model_release released[MODEL_MOST]; /* a ring */
    size_t released_count;
};

/* The answers at time `now`, in the fields that the script's answer has. */
struct answer model_acquire(struct model *model, int64_t now, const struct acquiring *acquiring);
struct answer model_renew(struct model *model, int64_t now, const char *token, int64_t ttl_ms);
struct answer model_release(struct model *model, int64_t now, const char *token,
                            const char *attempt);
struct answer model_break(struct model *model, int64_t now);
struct seen model_inspect(struct model *model, int64_t now, const char *token);

/* Whether a release of the token is known for sure, for sure not, or may be. */
enum model_memory { MODEL_FORGOTTEN, MODEL_PERHAPS, MODEL_REMEMBERED };
enum model_memory model_remembers(const struct model *model, int64_t now, const char *token,
                                  struct model_release *ret);

bool model_waits(const struct model *model, const char *token);

/* The next time at which something ends by itself, after `now`; `now` where nothing does. */
int64_t model_next_end(const struct model *model, int64_t now);

/* Invariant 1: the holds go together. */
bool model_is_compatible(const struct model *model);

#endif
