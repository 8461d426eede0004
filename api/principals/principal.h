/* principal.h: a caller that API keys and certificates stand for: its name, rights and limits. */
#ifndef BATON_API_PRINCIPALS_PRINCIPAL_H
#define BATON_API_PRINCIPALS_PRINCIPAL_H

#include "locks/types/owner.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    PRINCIPAL_NAME_LENGTH = OWNER_REALM_LENGTH, /* bytes, at most */
    PRINCIPAL_LIMIT_UNSET = -1,                 /* as batond's settings have it */
    PRINCIPAL_LIMIT_MOST = 1000000,
};

/* What a rule allows. X(name, word) */
#define VERBS(X)                                                                                   \
    X(VERB_ACQUIRE, "acquire") /* to take locks, and to renew and release what one has */          \
    X(VERB_READ, "read")       /* to inspect, list and watch */                                    \
    X(VERB_BREAK, "break")     /* to end the holds of everybody */                                 \
    X(VERB_METRICS, "metrics") /* the figures of the process; whatever the rule's prefix */

#define VERB_NAME(name, word) name,
enum verb { VERBS(VERB_NAME) VERB_COUNT, VERB_NONE = VERB_COUNT };
#undef VERB_NAME

extern const char *const VERB_WORDS[VERB_COUNT];

#define VERB_BIT(verb) (1u << (verb))

/* These verbs, for names that begin with these bytes. */
struct rule {
    struct slice prefix;
    unsigned verbs;     /* VERB_BIT of each */
    int64_t max_ttl_ms; /* the longest TTL that it allows; 0: as batond's settings have it */
};

/* What is counted of a principal in the whole process, by any thread. It belongs to the name: when
 * the tokens-file is read again, the new principal of that name goes on with it. */
struct account {
    atomic_uint references;
    _Atomic int64_t rate_ns; /* of the monotonic clock: when its requests so far would be over, were
                                they spread evenly */
    _Atomic int64_t keeping_ns;       /* the same of its renewals and releases */
    _Atomic int64_t waiters;          /* its requests that wait now */
    _Atomic int64_t streams;          /* of them, its streams of events... */
    _Atomic int64_t connection_holds; /* ...and what is held by its connections */
    _Atomic int64_t bodies;           /* its requests whose bodies are on their way now */
};

/* Does not change, but for its account. Any thread; whoever keeps a reference may use it, also when
 * the tokens-file has it no more. */
struct principal {
    atomic_uint references;
    struct slice name;   /* without control characters; empty for the one that has no name, which is
                            everybody where there is no tokens-file */
    int64_t rate_limit;  /* requests per second; 0: no limit; or PRINCIPAL_LIMIT_UNSET */
    int64_t max_waiters; /* requests that wait at once; 0: no limit; or PRINCIPAL_LIMIT_UNSET */
    int64_t max_streams; /* of events, at once; the same */
    int64_t max_connection_holds; /* at once; the same */
    struct account *account;
    size_t rule_count;
    struct rule *rules;
};

/* Makes one without limits of its own and with room for so many rules, all of which allow nothing
 * yet. The name is copied. With an account of its own, or with that of `before` (may be NULL),
 * which had the name until now. */
struct principal *principal_new(struct slice name, size_t rule_count,
                                const struct principal *before);

/* Sets a rule; the prefix is copied, `max_ttl_ms` as in struct rule. */
void principal_set_rule(struct principal *principal, size_t index, struct slice prefix,
                        unsigned verbs, int64_t max_ttl_ms);

/* Another reference. */
struct principal *principal_keep(struct principal *principal);

/* One reference less; the last one frees. Takes NULL. */
void principal_drop(struct principal *principal);

/* Whether it may do this to the lock of that name: one of its rules has the verb, and the name
 * begins with its prefix, byte by byte. NULL may do nothing. */
bool principal_may(const struct principal *principal, enum verb verb, struct slice name);

/* Whether it may do this to some of the names that begin with *prefix, and then makes *prefix as
 * long as all of those have in common; the bytes are the principal's then. */
bool principal_narrow(const struct principal *principal, enum verb verb, struct slice *prefix);

/* The longest TTL that it may give to a lock of this name, or where the name is absent, to any
 * lock: of the rules that let it acquire, the one that allows most counts. `setting` is what a rule
 * allows that does not say, and what is returned where there is no such rule. Milliseconds. */
int64_t principal_longest_ttl(const struct principal *principal, struct slice name,
                              int64_t setting);

/* Whether the rules of both are the same, in the same order. */
bool principal_may_the_same(const struct principal *one, const struct principal *other);

/* Whether it may do this to some name, whichever. */
bool principal_may_somewhere(const struct principal *principal, enum verb verb);

#endif
