/* model.h: what the contract says of one name, in plain C, to compare the scripts with. It is told
 * the time, and answers each operation as its script has to. */
#ifndef BATON_TESTS_SCRIPTS_MODEL_H
#define BATON_TESTS_SCRIPTS_MODEL_H

#include "locks/quarantine/numbers.h"
#include "tests/scripts/scripts.h"

enum { MODEL_MOST = 256, MODEL_TOKEN = 16, MODEL_SERVERS = 4 };

struct model_hold {
    char token[MODEL_TOKEN];
    char owner[MODEL_TOKEN];
    char attempt[MODEL_TOKEN]; /* all that it was reported to; "" while unclaimed, "known" once
                                  renewed */
    bool shared;
    bool released; /* it only keeps the name taken, and is of nobody */
    bool reenters; /* the holds of its owner have let it in, or will */
    int64_t fence;
    int64_t since;
    int64_t ends;
    int64_t ttl_ms;
    int64_t limit;
    int64_t at_least_ms;
    int64_t max_held_ms;
    int64_t set;
    int64_t permits;
};

/* Where a waiter is: at the server that has its request, away, or granted and not claimed. */
enum model_place { PARKED, ABSENT, MISSED, GRANTED };

struct model_waiter {
    struct model_hold hold; /* what it wants, with the attempt of its last request */
    enum model_place place;
    bool had_hold;   /* its place is of that */
    bool is_away;    /* no server has its request; also while GRANTED */
    size_t server;   /* unless it is away */
    int64_t arrival; /* the least is first */
    int64_t came;    /* its arrival when it does not wait to enter its owner's holds any more */
    int64_t ends;    /* of one that is away */
    int64_t keep_ms;
    int64_t claim_ms;
    int missed; /* turns, since its server asked for it last */
};

struct model_server {
    bool listed;
    bool suspect;
    bool watching;
    int64_t ends; /* its lease */
    int64_t plan; /* when it runs a tick, by the notices it got; INT64_MAX: never */
};

struct model_release {
    char token[MODEL_TOKEN];
    bool cancelled;
    int64_t fence;
    int64_t at;
    int64_t held_ms;
    int64_t holds;
    int64_t until; /* it is known for sure; later it may be forgotten */
};

/* What one operation notifies servers of, but for ticks: "SERVER g ATTEMPT", ... */
struct model_messages {
    size_t count;
    char text[MODEL_MOST][64];
};

struct model {
    bool known;           /* it has keys */
    int64_t opens;        /* nothing is granted before that, */
    int64_t closed_until; /* and for the last operation, not before this */
    struct numbers numbers;
    int64_t retention_us;
    int64_t version;
    struct model_hold holds[MODEL_MOST]; /* the one that ends soonest first */
    size_t hold_count;
    int64_t limit; /* of the newest grant of a shared hold */
    struct model_waiter waiters[MODEL_MOST];
    size_t waiter_count; /* those granted and not claimed are among them */
    int64_t arrival;
    struct model_server servers[MODEL_SERVERS];
    struct model_release last;
    char last_reason[48], last_owner[MODEL_TOKEN];
    bool last_is_repeatable;
    struct model_release released[MODEL_MOST]; /* a ring of those before the last */
    size_t released_count;
    struct model_messages messages;        /* of the last operation */
    struct model_hold expired[MODEL_MOST]; /* that it has to report */
    size_t expired_count;
    int64_t version_before; /* the last operation, */
    bool was_wanted;        /* and whether somebody waited then */
};

/* The names of the servers, by number. */
extern const char *const MODEL_SERVER_NAMES[MODEL_SERVERS];

/* The answers at time `now`, in the fields that the script's answer has. */
struct answer model_acquire(struct model *model, int64_t now, const struct acquiring *acquiring);
struct answer model_renew(struct model *model, int64_t now, const char *token, int64_t ttl_ms);
struct answer model_release(struct model *model, int64_t now, const char *token);

/* After a release that was asked for by this server: the next one's hold is claimed at once, which
 * only goes where its request is parked there, and it is the only holder. */
void model_claim_at_release(struct model *model, int64_t now, size_t server, struct answer *answer);

struct answer model_leave(struct model *model, int64_t now, const struct leaving *leaving);
struct answer model_break(struct model *model, int64_t now, int64_t fence); /* 0: all */
struct seen model_inspect(struct model *model, int64_t now, const char *token);
int64_t model_tick(struct model *model, int64_t now);
struct seen model_watch(struct model *model, int64_t now, size_t server, int64_t lease_ms);

void model_heartbeat(struct model *model, int64_t now, size_t server, int64_t lease_ms);

/* Whether any hold was handed over and is not claimed. */
bool model_is_unclaimed(const struct model *model);

/* How many requests of the server wait or have not claimed, and which has not. Nothing is changed
 * where the server has to ask again. */
void model_stand(const struct model *model, int64_t now, size_t server, struct standing *ret);

/* Whether a release of the token is known for sure, for sure not, or may be. */
enum model_memory { MODEL_FORGOTTEN, MODEL_PERHAPS, MODEL_REMEMBERED };
enum model_memory model_remembers(const struct model *model, int64_t now, const char *token,
                                  struct model_release *ret);

/* The next time at which a server has to look after the name, or INT64_MAX. */
int64_t model_next_tick(const struct model *model, int64_t now);

/* The next time at which anything ends by itself, after `now`; `now` where nothing does. */
int64_t model_next_end(const struct model *model, int64_t now);

/* The clock has gone back: nobody knows any more which releases are remembered, but for the last.
 */
void model_go_back(struct model *model);

/* As milliseconds; of a time before its beginning, since a clock went back, the one below. */
int64_t model_ms(int64_t us);

/* Invariant 1: each hold goes together with those that were there at its grant. */
bool model_is_compatible(const struct model *model);

#endif
