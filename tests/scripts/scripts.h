/* scripts.h: the operations of locks/scripts as words for tests, run against a Redis of the test's
 * own. After each operation every key of the name is looked at: none may be without an expiry. */
#ifndef BATON_TESTS_SCRIPTS_SCRIPTS_H
#define BATON_TESTS_SCRIPTS_SCRIPTS_H

#include "tests/support/redis_process.h"

enum { TEXT = 300, EXPIRIES = 256, REPORTED_MOST = 110 };

/* What a script has reported as expired. */
struct seen_expiry {
    char key[TEXT];
    char owner[TEXT];
    char mode[16];
    int64_t fence; /* 0: of a hold set, `count` more */
    int64_t held_ms;
    int64_t count;
};

struct scripts {
    struct redis_process redis;
    redisContext *link;   /* what operations use: the test's own, or another one for a while */
    redisContext *ask;    /* not NULL: `link` is a node of a Cluster, and ASK leads to this one */
    int64_t retention_ms; /* these make ARGV[1] of every operation; */
    int64_t latest_us;    /* 0: any time will do */
    int64_t opens_us;     /* 0: grants are made */
    int64_t floor_us, level_us;
    const char *epoch;           /* of the data, as operations know it; NULL: they look at none, */
    const char *tag;             /* whose key has this hash tag; NULL: none */
    int64_t clock_us;            /* 0: Redis's own clock; else the time that operations are told */
    bool together;               /* calls go as batond sends many: see many.lua */
    struct recording *recording; /* NULL: what is called is not kept */
    bool is_full;                /* Redis may use no more memory */
    bool unwatched; /* do not look at the keys afterwards, where time or calls are counted */
    int cut_at;     /* 0: not; a script fails at this call of Redis, unless that sets an expiry */
    bool was_cut;   /* the last one that was to */
    bool is_impatient;    /* what is not finished is not run again */
    bool keys_were_lost;  /* then what is counted need not be there */
    unsigned attempts;    /* made so far */
    unsigned turns;       /* that the last operation took */
    size_t expired_count; /* what it has reported */
    struct seen_expiry expired[EXPIRIES];
    int64_t due_ms;         /* when a server has to act, at the latest; -1: never */
    const char *list_owner; /* NULL: a list is of all owners, */
    int64_t list_held_ms;   /* and 0: of all times */
    size_t damaged_count;   /* what it could not read */
    char damaged[EXPIRIES][TEXT];
};

enum { SHOWN = 10 };

struct seen_hold {
    char owner[TEXT];
    char mode[16];
    int64_t fence;
    int64_t ttl_ms;
    int64_t held_ms;
    int64_t since_us;
    char meta[TEXT];     /* the client's address, and its object */
    int64_t released;    /* 1: it only keeps the name taken */
    int64_t at_least_ms; /* what is left of these */
    int64_t max_held_ms;
    int64_t permits; /* 0: 1 */
};

struct seen_waiter {
    char owner[TEXT];
    char mode[16];
    int64_t waited_ms;
    int64_t since_us;
    char client[TEXT];
};

struct seen {
    int64_t version;
    int64_t holds;
    int64_t extra_permits;
    int64_t limit;
    int64_t waiters;
    int64_t mine;
    int64_t position;   /* of the token's waiter */
    int64_t last_fence; /* 0: no last release */
    char last_reason[TEXT];
    char last_owner[TEXT];
    int64_t last_ago_ms;
    size_t shown;
    struct seen_hold shown_holds[SHOWN];
    size_t line; /* of those who wait, first those who are granted first */
    struct seen_waiter in_line[SHOWN];
};

/* What an operation answered; what its script does not report is 0 or "". */
struct answer {
    char status[TEXT]; /* the reply's first word, or the error */
    bool repeated;     /* a release that was sent again; its status is "released" */
    int64_t fence;
    int64_t ttl_ms;
    int64_t held_ms;
    int64_t holds;
    int64_t version;
    int64_t limit;
    int64_t free_in_ms;  /* of a release: for how long the name stays taken */
    int64_t at_least_ms; /* what is left of these */
    int64_t max_held_ms;
    int64_t count;       /* of a break; of a refusal the waiters there are; 1 if a token was used
                          * for other names */
    int64_t next_ms;     /* when to tick */
    int64_t permits;     /* if more than 1; in use: those that the token has */
    int64_t reentry;     /* of a token in use: 1: it waits to re-enter, -1: it does not */
    int64_t other_limit; /* 1 more than that of shared holds that have another one; 0: none has */
    char next_attempt[TEXT]; /* of a release: whose turn it is, if that was claimed at once */
    char next_owner[TEXT];   /* the same: whose it is then */
    char owner[TEXT];
    char mode[16];
    char reason[16]; /* of a quarantine */
    struct seen view;
};

/* For cmocka: a Redis for all tests of a program, emptied for each. *state is a struct scripts. */
int scripts_start(void **state);
int scripts_start_together(void **state);
int scripts_stop(void **state);

/* Runs all tests twice: each call is a command of its own, and then one that could have others. */
#define RUN_SCRIPT_TESTS                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        int alone = tests_run(scripts_start, scripts_stop);                                        \
        return alone + tests_run(scripts_start_together, scripts_stop);                            \
    }
int scripts_clean(void **state);
int scripts_clean_with_own_clock(void **state);

/* What they do: an empty Redis. With a clock of its own, time stands still but for sleep_past,
 * whatever the machine is busy with. */
void scripts_reset(struct scripts *scripts);
void scripts_reset_with_own_clock(struct scripts *scripts);

/* Tests that begin so, with `scripts`: on the time of Redis, and with a clock of their own. */
#define TEST_ON_SCRIPTS(name, setup, teardown)                                                     \
    TEST_ON(struct scripts *scripts, name, setup, teardown)
#define TEST_ON_REDIS_TIME(name) TEST_ON_SCRIPTS(name, scripts_clean, NULL)
#define TEST_WITH_CLOCK(name)    TEST_ON_SCRIPTS(name, scripts_clean_with_own_clock, NULL)

/* 0: no limit. */
void scripts_limit_memory(struct scripts *scripts, int bytes);

/* Begins an owner that the client has not named. */
#define MADE "\x1f"

struct acquiring {
    const char *name;  /* NULL: "n" */
    const char *token; /* NULL: "token" */
    const char *owner; /* NULL: the token */
    bool reenters;     /* the holds of its owner let it in */
    int64_t set;       /* of names that are asked for together; 0: one */
    int64_t permits;   /* 0: 1 */
    const char *mode;  /* NULL: exclusive */
    int64_t limit;
    int64_t ttl_ms;      /* 0: 30000 */
    int64_t at_least_ms; /* 0: none, */
    int64_t max_held_ms; /* likewise */
    const char *attempt; /* NULL: one that was not used before */
    const char *meta;    /* the client's address, and its object; NULL: "" */
    bool token_is_new;
    bool again;         /* the same request looks again */
    const char *server; /* where it waits; NULL: it does not */
    int64_t lease_ms;   /* 0: 60000 */
    int64_t claim_ms;   /* 0: 5000 */
    int64_t keep_ms;
    int64_t bound; /* 0: 10000 */
};

/* acquire(scripts, .token = "a", .mode = "shared") */
#define acquire(scripts, ...) acquire_with(scripts, &(struct acquiring){__VA_ARGS__})
struct answer acquire_with(struct scripts *scripts, const struct acquiring *acquiring);

/* Operations on a name; `ttl_ms` 0 stands for the TTL that the hold was last given. */
struct answer renew(struct scripts *scripts, const char *name, const char *token, int64_t ttl_ms);
struct answer release(struct scripts *scripts, const char *name, const char *token);

/* A renewal by a server, for 30000 ms, with which at_least and max_held begin. */
struct answer begin_terms(struct scripts *scripts, const char *name, const char *token,
                          int64_t at_least_ms, int64_t max_held_ms);

/* The same through a server, whose own waiter may have the lock by the reply: `owner` then. */
struct answer release_at(struct scripts *scripts, const char *name, const char *token,
                         const char *server);

/* The same for the hold of a connection that has ended: only if the connection of this attempt has
 * it. */
struct answer release_connection(struct scripts *scripts, const char *name, const char *token,
                                 const char *attempt);

/* The request of this attempt ends: `why` is "timeout", "gone" or "drain". */
struct leaving {
    const char *name; /* NULL: "n" */
    const char *token;
    const char *attempt;
    const char *why;
    int64_t keep_ms;
    int64_t lease_ms; /* 0: 60000 */
    int64_t claim_ms; /* 0: 5000 */
};

#define leave(scripts, ...) leave_with(scripts, &(struct leaving){__VA_ARGS__})
struct answer leave_with(struct scripts *scripts, const struct leaving *leaving);

/* A grant is given back without a trace: "released", or "not_held" where that changed nothing. */
struct answer take_back(struct scripts *scripts, const char *name, const char *token,
                        const char *attempt);

/* What a heartbeat reports of one of its names. */
struct standing {
    int64_t waits; /* how many requests; -1: it has to ask again */
    int64_t version;
    int64_t next_ms;
    char attempt[TEXT]; /* the request that has not claimed; "": none */
};

/* What a server does for a name besides. `lease_ms` 0: 60000. One heartbeat renews all names. */
struct answer tick(struct scripts *scripts, const char *name, const char *server);
struct answer watch(struct scripts *scripts, const char *name, const char *server,
                    int64_t lease_ms);
void heartbeat(struct scripts *scripts, const char *server, int64_t lease_ms, size_t count,
               const char *const *names, struct standing *ret);
struct answer break_all(struct scripts *scripts, const char *name);

/* Both break as BREAKER, and so the reason is BROKEN. `owner` is whose the first hold was; "":
 * there was none. Here the hold with this fence ends, and no other. */
#define BREAKER                                                                                    \
    "root\x1fhere\x1f"                                                                             \
    "because"
#define BROKEN "forced\x1f" BREAKER
struct answer break_hold(struct scripts *scripts, const char *name, int64_t fence);

/* At a member of a quorum: the hold of the token is to have this number as its fence. `known`: the
 * fence by which the request knows it here; `step`: see raise.lua, or NULL. */
struct answer raise_to(struct scripts *scripts, const char *name, const char *token, int64_t number,
                       int64_t known, const char *step);

/* The epoch of Redis (epoch.lua), after this change of it if it has this id; NULL ends the words.
 * Times are in us. */
struct epoch_seen {
    char id[32];
    int64_t span, before, turns, until, since;
};
struct epoch_seen change_epoch(struct scripts *scripts, const char *id, const char *const *words);

/* The check whether a grant could be stored. */
void ready(struct scripts *scripts);

struct seen inspect(struct scripts *scripts, const char *name, const char *token);

/* The same two, where the operation may fail: the status is then the error. */
struct answer try_inspect(struct scripts *scripts, const char *name, const char *token);

/* One page of a listing. */
enum { PAGE = 1000 };
struct page {
    char error[TEXT];
    char cursor[32];
    size_t count;
    char keys[PAGE][64];
    struct seen views[PAGE];
    size_t rest_count;
    char rest[PAGE][64];
};

/* `rest` (its first `rest_count`) are keys left over from the page before. To be freed. */
struct page *list(struct scripts *scripts, const char *cursor, const char *pattern, int64_t limit,
                  int64_t budget, char (*rest)[64], size_t rest_count);

/* Counts all holds, by parts of so many keys; -1 where it failed. `ret_parts` may be NULL. */
int64_t count_holds(struct scripts *scripts, int64_t budget, int *ret_parts);

/* That an operation answered so. */
#define assert_status(answer, expected) assert_string_equal((answer).status, expected)

/* Redis's clock in microseconds, and waiting for it; sleep_past moves the test's own, if set. */
int64_t redis_now(struct scripts *scripts);
void sleep_until(struct scripts *scripts, int64_t time_us);
void sleep_past(struct scripts *scripts, int64_t ms);

/* Lets this claim window go by in which the server of a parked request has two turns for "n". */
void miss_turns(struct scripts *scripts, int64_t claim_ms);

/* A name's key, with what hangs off it (":holds", or "" for the main key). */
struct name_key {
    char text[900];
    size_t length;
};
struct name_key key_of(const char *name, const char *suffix);
void delete_key(struct scripts *scripts, const char *name, const char *suffix);

/* How many keys Redis has. */
int64_t key_count(struct scripts *scripts);

/* Keeps the calls from now on to recording_end, each with its reply. */
void recording_begin(struct scripts *scripts);
struct recording *recording_end(struct scripts *scripts);

/* Makes the calls once more, as one command, and frees the recording. Returns how many replies
 * differ from the first ones, and prints those; -1 where the whole command failed, with its error
 * in `ret`. */
int recording_repeat(struct scripts *scripts, struct recording *recording, char ret[TEXT]);

/* A digest of all that Redis stores. To be freed. */
char *redis_digest(struct scripts *scripts);

/* How often Redis ran a command, and its microseconds per call, since `reset_stats`. */
void reset_stats(struct scripts *scripts);
int64_t calls_of(struct scripts *scripts, const char *command);
double usec_per_call(struct scripts *scripts, const char *command);

#endif
