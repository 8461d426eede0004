/* principal.h: a caller that API keys and certificates identify: its name, rights and limits. */
#ifndef BATON_API_PRINCIPALS_PRINCIPAL_H
#define BATON_API_PRINCIPALS_PRINCIPAL_H

#include "locks/types/owner.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    PRINCIPAL_NAME_LENGTH = OWNER_REALM_LENGTH, /* bytes, at most */
    PRINCIPAL_LIMIT_UNSET = -1,                 /* the setting of batond applies */
    PRINCIPAL_LIMIT_MOST = 1000000,
};

/* The rights of a rule. X(name, word) */
#define VERBS(X)                                                                                   \
    X(VERB_ACQUIRE, "acquire") /* acquire locks, renew and release its own */                      \
    X(VERB_READ, "read")       /* inspect, list and watch */                                       \
    X(VERB_BREAK, "break")     /* end the holds of anyone */                                       \
    X(VERB_METRICS, "metrics") /* the figures of the process; whatever the rule's prefix */

#define VERB_NAME(name, word) name,
enum verb { VERBS(VERB_NAME) VERB_COUNT, VERB_NONE = VERB_COUNT, VERB_ANY };
#undef VERB_NAME

extern const char *const VERB_WORDS[VERB_COUNT];

#define VERB_BIT(verb) (1u << (verb))

/* Allows the verbs for names that begin with the prefix. */
struct rule {
    struct slice prefix;
    unsigned verbs;      /* VERB_BIT of each */
    int64_t max_ttl_ms;  /* the longest TTL that it allows; 0: the setting of batond applies */
    int64_t max_held_ms; /* how long renewals may carry a hold; 0: the same */
};

/* Counts what a principal uses in the whole process; any thread. It belongs to the name: after the
 * tokens-file is read again, the new principal with that name has the same account. */
struct account {
    atomic_uint references;
    _Atomic int64_t rate_ns; /* of the monotonic clock: when its requests so far would end if they
                              * came evenly */
    _Atomic int64_t keeping_ns;       /* the same for renewals and releases */
    _Atomic int64_t waiters;          /* its requests that wait now */
    _Atomic int64_t streams;          /* of them, streams of events... */
    _Atomic int64_t connection_holds; /* ...and holds of connections */
    _Atomic int64_t bodies;           /* its requests with a body under way now */
};

/* Constant except for its account. From any thread. A reference keeps it valid, even after the
 * tokens-file has dropped it. */
struct principal {
    atomic_uint references;
    struct slice name;   /* without control characters; empty for the principal of all requests if
                          * there is no tokens-file */
    int64_t rate_limit;  /* requests per second; 0: no limit; or PRINCIPAL_LIMIT_UNSET */
    int64_t max_waiters; /* requests that wait at once; 0: no limit; or PRINCIPAL_LIMIT_UNSET */
    int64_t max_streams; /* of events, at once; the same */
    int64_t max_connection_holds; /* at once; the same */
    struct account *account;
    size_t rule_count;
    struct rule *rules;
};

/* Makes a principal with `rule_count` empty rules and no limits of its own; copies the name. It
 * shares the account of `before`, the earlier principal of that name, or has a new one if that is
 * NULL. */
struct principal *principal_new(struct slice name, size_t rule_count,
                                const struct principal *before);

/* Sets a rule and copies the prefix. */
void principal_set_rule(struct principal *principal, size_t index, const struct rule *rule);

/* Takes another reference. */
struct principal *principal_keep(struct principal *principal);

/* Drops a reference; the last one frees. Takes NULL. */
void principal_drop(struct principal *principal);

/* Whether the principal may do this to the lock: a rule has the verb, and its prefix begins the
 * name, byte by byte. NULL may do nothing. */
bool principal_may(const struct principal *principal, enum verb verb, struct slice name);

/* Whether the principal may do this to some names that begin with *prefix. If so, this lengthens
 * *prefix to what those names have in common; the principal owns the bytes. */
bool principal_narrow(const struct principal *principal, enum verb verb, struct slice *prefix);

/* Returns the longest TTL, in ms, that the principal may give to the lock, or to any lock if `name`
 * is absent: the most that a rule with VERB_ACQUIRE allows. `setting` stands for a rule without
 * max_ttl, and is the result if no rule applies. */
int64_t principal_longest_ttl(const struct principal *principal, struct slice name,
                              int64_t setting);

/* The same for how long a hold may last by renewals (max_held). */
int64_t principal_longest_held(const struct principal *principal, struct slice name,
                               int64_t setting);

/* Whether both have the same rules, in the same order. */
bool principal_may_the_same(const struct principal *one, const struct principal *other);

/* Whether the principal may do this to any name at all. */
bool principal_may_somewhere(const struct principal *principal, enum verb verb);

#endif
