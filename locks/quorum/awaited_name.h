/* awaited_name.h: a name of a quorum that requests of this worker wait for or watch, and when to
 * ask the members again. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_AWAITED_NAME_H
#define BATON_LOCKS_QUORUM_AWAITED_NAME_H

#include "base/slice.h"
#include "locks/quorum/local_queue.h"
#include "locks/quorum/tally.h"
#include "locks/watching/watch.h"

#include <sys/queue.h>
#include <uv.h>

struct locks;

/* Of a name's waiters only the first asks for the lock (local_queue.h). It asks again when enough
 * of the refusing members have reported a change, or when enough of their holds have ended. While
 * this worker is enlisted as a watcher, members report changes to its inbox. A report is only a
 * hint: if it is lost, the first waiter asks AWAITED_FALLBACK_MS later anyway. */
enum {
    AWAITED_FALLBACK_MS = 1000,
    AWAITED_PAUSE_LEAST_MS = 5, /* after a split vote */
    AWAITED_PAUSE_MOST_MS = 80, /* the pause doubles up to this, with jitter */
    AWAITED_AWAY_MS = 250,      /* after too few members answered */
};

struct awaited_name {
    struct slice key; /* the first member: as base/tree.h wants */
    LIST_ENTRY(awaited_name) others;
    struct locks *locks;
    unsigned users; /* waiters, watches and broadcasts; at 0 it is freed */
    struct local_queue queue;
    struct watched watched;
    int64_t observed[TALLY_MEMBERS]; /* the greatest version that each member reported */
    int64_t known[TALLY_MEMBERS];    /* the version of the name when it refused */
    bool refuses[TALLY_MEMBERS];
    unsigned missing; /* how many refusing members must change */
    unsigned pause_ms;
    bool is_split;
    bool is_enlisting;
    uint64_t round_at; /* loop time, ms; 0: not planned */
    uint64_t read_at;
    uint64_t enlist_at; /* 0: this worker is not enlisted yet */
    uv_timer_t timer;
    char key_bytes[];
};

/* Finds or creates the name and counts one more user. Each user ends with awaited_name_leave. */
struct awaited_name *awaited_name_join(struct locks *locks, struct slice key);
void awaited_name_leave(struct awaited_name *awaited);

/* NULL if no request of this worker waits for the name. */
struct awaited_name *awaited_name_find(const struct locks *locks, struct slice key);

/* Call this when a request is about to wait or watch: members report changes to this worker from
 * now on. */
void awaited_name_enlist(struct awaited_name *awaited);

/* The members refused the first waiter by these votes. */
void awaited_name_refused(struct awaited_name *awaited, const struct tally *tally);

/* Too few members answered the first waiter. */
void awaited_name_unanswered(struct awaited_name *awaited);

/* Each member knows a hold of this version for ttl_ms from now, and that hold excludes the first
 * waiter. */
void awaited_name_taken(struct awaited_name *awaited, int64_t version, int64_t ttl_ms);

/* No waiter is left to ask. */
void awaited_name_rest(struct awaited_name *awaited);

/* The first waiter asks for the lock, or the watches read the name, in at most in_ms milliseconds.
 * A negative number plans nothing. */
void awaited_name_plan_round(struct awaited_name *awaited, int64_t in_ms);
void awaited_name_plan_read(struct awaited_name *awaited, int64_t in_ms);

/* The members' answers may have changed: enlists again, and plans both for now. */
void awaited_name_check(struct awaited_name *awaited);

/* Member `member` has reported this version of the name. */
void awaited_name_changed(struct awaited_name *awaited, unsigned member, int64_t version);

#endif
