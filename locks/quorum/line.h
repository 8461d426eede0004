/* line.h: a name of a quorum that requests of this worker wait for, or watch: who they are, and
 * when the members may say something else than before. Internal to locks/. */
#ifndef BATON_LOCKS_LINE_H
#define BATON_LOCKS_LINE_H

#include "base/slice.h"
#include "locks/quorum/tally.h"

#include <uv.h>

struct call;
struct locks;
struct looker;
struct place;
struct ticket;

/* Only the first who waits asks for the lock, and each worker knows by tickets.h whether that is
 * one of its own; where it is not, what it has planned comes to nothing, and it is called when one
 * of its own has become the first. The first asks again when so many members have changed the name
 * since they refused that it may get a majority now, or when so many of their holds have ended. The
 * members tell of changes by the inbox there, as long as this worker is enlisted as a watcher. Such
 * a message is a hint: one that was lost costs LINE_FALLBACK_MS, after which the first asks anyway.
 */
enum {
    LINE_FALLBACK_MS = 1000,
    LINE_PAUSE_LEAST_MS = 5, /* after a split vote, */
    LINE_PAUSE_MOST_MS = 80, /* doubled each time, and jittered */
    LINE_AWAY_MS = 250,      /* after too few members had answered */
};

struct line {
    struct slice key; /* the first member: what tsearch(3) compares */
    struct line *next;
    struct line *previous;
    struct locks *locks;
    unsigned users;      /* places, lookers and questions under way; without any it goes */
    struct place *first; /* of those that wait here, in no order */
    struct looker *first_looker;
    bool is_looking;
    bool look_again;
    int64_t heard[TALLY_MEMBERS]; /* the greatest version that each member has told of */
    int64_t known[TALLY_MEMBERS]; /* the one with which it has refused */
    bool refuses[TALLY_MEMBERS];
    unsigned missing; /* how many of those have to change */
    unsigned pause_ms;
    bool is_split;
    bool is_enlisting;
    uint64_t try_at; /* loop time, ms; 0: not planned */
    uint64_t look_at;
    uint64_t enlist_at; /* 0: this server is not enlisted yet */
    uv_timer_t timer;
    char key_bytes[];
};

/* Finds or makes it, and counts one more user; every user ends with line_leave. */
struct line *line_join(struct locks *locks, struct slice key);
void line_leave(struct line *line);

/* NULL where there is none. */
struct line *line_find(const struct locks *locks, struct slice key);

/* Somebody will wait or watch: the members are to tell of changes from now on. */
void line_enlist(struct line *line);

/* The first in line was refused by this vote. */
void line_refused(struct line *line, const struct tally *tally);

/* Too few members have answered it. */
void line_unanswered(struct line *line);

/* All members have the name held by a hold of this version for so long, which does not admit the
 * first in line. */
void line_taken(struct line *line, int64_t version, int64_t ttl_ms);

/* The first is none of this worker's. */
void line_rest(struct line *line);

/* In so many milliseconds at the latest (negative: never) the first asks again; or the watches look
 * again. */
void line_plan_try(struct line *line, int64_t in_ms);
void line_plan_look(struct line *line, int64_t in_ms);

/* The members may say something else now: all are enlisted again, the first asks, the watches look.
 */
void line_check(struct line *line);

/* What lines do with those who are in them. */

/* Places (places.c): the first in line asks, if it is here and does not already. */
void places_go(struct line *line);
void places_drain(struct line *line);
/* As `called` of a desk. */
void places_called(struct ticket *ticket, const struct call *call);

/* Lookers (lookers.c): the name is looked at, once for all. */
void lookers_go(struct line *line);
void lookers_drain(struct line *line);

#endif
