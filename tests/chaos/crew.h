/* crew.h: the clients of a chaos test: each waits for a lock, holds it and releases it, or goes
 * away at a bad time; what they see is written down as a history. */
#ifndef BATON_TESTS_CHAOS_CREW_H
#define BATON_TESTS_CHAOS_CREW_H

#include "tests/chaos/stage.h"
#include "tests/history/checker.h"
#include "tests/history/record.h"
#include "tests/support/many.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FOR_EVER_US = 1000000000, DISTURBANCES = 1024 };

/* What a client is to do. Its token, and its owner unless one is named, are its number. */
struct part {
    int name;
    enum way way; /* may be changed while it plays: for its next request */
    bool shared;
    int limit;
    int owner; /* 0: its own; else its holds let it in */
    int64_t ttl_ms;
    int64_t wait_ms;
    int64_t keep_ms;
    int64_t hold_us;  /* how long it keeps the lock; FOR_EVER_US: until crew_release */
    bool foothold;    /* its first request waits only 1 ms, so that it is known to have a place */
    bool patient;     /* comes again with its token whatever went wrong */
    int64_t pause_us; /* before it comes again */
};

enum act { RESTS, ASKS, HOLDS, RELEASES, PAUSES, DONE_WELL, LEFT, FAILED };

struct member {
    struct part part;
    enum way home; /* where it asked first */
    enum act act;
    struct many_client client;
    struct crew *crew;
    int number;
    bool releasing; /* what it repeats after a pause is its release */
    bool unsure;    /* it hung up on a reply that it did not read: what it has it releases */
    bool has_place; /* its next request may wait */
    int64_t due;    /* when its hold or pause ends */
    int64_t leave;  /* when it hangs up, if no reply has come by then; 0: never */
    int64_t first_sent, placed, granted; /* placed: it has had its place since then; 0: unknown */
    int64_t fence;
    int requests;
    int64_t
        away; /* none of its requests has reached a replica since then; 0: the latest may have */
    size_t event; /* of the request under way */
    int last_status;
    char last_code[40];
};

/* The machine itself may stand still, if others have much to do on it: a watchman sees that, and it
 * counts as a disturbance of all. */
struct crew {
    struct stage *stage;
    struct many *many;
    struct member **members;
    size_t count, room;
    struct record record;
    struct disturbance disturbances[DISTURBANCES]; /* under the lock */
    size_t disturbance_count;
    pthread_mutex_t lock;
    pthread_t watchman;
    atomic_bool stop;
    int64_t clock_offset; /* microseconds to take from Redis's time to get ours */
    size_t grants;
    int64_t longest_away; /* how long one that had a place was away, in microseconds */
    const struct member *longest_away_member;
    int first_token;
    void (*granted)(struct member *member); /* may be NULL */
};

void crew_start(struct crew *crew, struct stage *stage);
void crew_free(struct crew *crew);

/* A new client, its request sent. */
struct member *crew_send(struct crew *crew, const struct part *part);

/* Ends the hold of one with FOR_EVER_US, once it has it. */
void crew_release(struct member *member);

/* From now on, all of them send their requests this way. */
void crew_turn_to(struct crew *crew, enum way way);

/* It hangs up now, and plays no more. */
void crew_leave(struct member *member, bool reset);

/* Lets them play for a time; or until all but those that hold for ever have come to an end. The
 * latter returns false where they have not after `timeout_ms`. */
void crew_play(struct crew *crew, int64_t ms);
bool crew_finish(struct crew *crew, int64_t timeout_ms);

/* Plays until so many have been granted a lock, in all. */
bool crew_await_grants(struct crew *crew, size_t grants, int64_t timeout_ms);

/* Waits until so many wait for the name; then all that ask for it are known to be in the queue. */
void crew_await_queued(struct crew *crew, int name, int64_t length);

/* Writes an inspection of the name down. */
void crew_inspect(struct crew *crew, int name);

/* From now on, or until now, the order is not promised to those who wait at this replica (-1: at
 * any). */
void crew_disturb(struct crew *crew, int replica);
void crew_calm(struct crew *crew, int replica);

/* Prints all that it did. */
void crew_print(const struct member *member);

/* How many were granted their lock before one of the same name that had its place before they asked
 * for the first time; prints the first of them. Footholds make it known who had. */
size_t crew_count_passed(const struct crew *crew);

/* How many are in this act. */
size_t crew_count(const struct crew *crew, enum act act);

/* Holds what was seen against what is promised, and prints what is wrong. Fails the test where
 * something is. */
void crew_check(struct crew *crew);

#endif
