/* lane.h: names of one batond that are held and waited for, to be handed over one at a time. */
#ifndef BATON_TESTS_BENCH_LANE_H
#define BATON_TESTS_BENCH_LANE_H

#include "tests/bench/caller.h"
#include "tests/bench/run.h"

#include <stddef.h>
#include <stdint.h>

enum { LANE_CONTROLS = 8 };

/* Every name is held and has as many clients waiting for it as any other. Who is handed the lock
 * keeps it without its connection, which goes to the end of the queue with another token: so the
 * queue is as long as before, and in a known order. Anything that goes wrong (a refusal, somebody
 * granted who is not at the head, a wait that ended) ends the program. */
struct lane {
    struct run *run;
    struct sockaddr_in server;
    size_t first; /* number of its first name */
    size_t names;
    size_t waiters; /* of each name */
    int epoll;
    size_t rounds; /* hand-overs so far */
    struct lane_name *name;
    struct caller *parked;                 /* waiters of the first name, of the second... */
    unsigned *token;                       /* that each of them waits with */
    struct caller *control[LANE_CONTROLS]; /* connections for all other requests, in turn */
    char query[64];
};

struct lane_options {
    const char *url;
    const char *wait; /* how long to wait at most, as the query has it */
    size_t first_name;
    size_t names;
    size_t waiters;
};

/* Connects, and takes all names. */
void lane_open(struct lane *lane, struct run *run, const struct lane_options *options);

/* Parks all waiters. Each is in the queue before the next comes. */
void lane_fill(struct lane *lane);

/* Releases the hold of a name. Returns the us from sending the DELETE to having the whole 201 of
 * the client at the head of the queue. The queue is one shorter until lane_refill. */
int64_t lane_hand_over(struct lane *lane, size_t name);

/* Parks that client again. Now and then it comes with a new connection. */
void lane_refill(struct lane *lane, size_t name);

/* Waits so long for nothing to happen. */
void lane_rest(struct lane *lane, int64_t ms);

/* Hangs up, and releases all. */
void lane_close(struct lane *lane);

#endif
