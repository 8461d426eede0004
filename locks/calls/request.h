/* request.h: the script that acquires: its arguments for a request, and what its answers mean.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_REQUEST_H
#define BATON_LOCKS_CALLS_REQUEST_H

#include "locks/calls/operation.h"

/* What the script may assume of the token. It gets this number, plus flags. */
enum request_kind {
    REQUEST_NEW = 0,   /* no request can have used it before */
    REQUEST_FIRST = 1, /* a new attempt; an earlier one may have used the token. Both share the
                        * hold, which ends when every attempt that got it has given it back */
    REQUEST_AGAIN = 2, /* this Redis has the attempt already: it claims its grant, or waits on,
                        * unless a later one has its place */
};
/* As acquire.lua has them; 8 is free. */
enum request_flag {
    REQUEST_REENTRANT = 4,
    REQUEST_WITH_TERMS = 16, /* it has at_least or max_held */
    REQUEST_WITH_SET = 32,
    REQUEST_WITH_PERMITS = 64,
};

/* The script's answer: the request waits, or a reply ends it. */
struct request_answer {
    bool waits;          /* the request is in the queue: only `next_ms` is set */
    int64_t next_ms;     /* until the next hold of the name ends; -1: there is none */
    int64_t other_limit; /* the limit of the name's shared holds; -1: the request's own */
    struct locks_reply reply;
};

/* A new identity, for the next request. */
struct attempt request_attempt(struct locks *locks, bool of_connection);

/* A copy whose texts are in `bytes`, of request_length(acquire) bytes. */
struct acquire request_copy(const struct acquire *acquire, char *bytes);
size_t request_length(const struct acquire *acquire);

/* How long this request's hold lasts without a renewal, in ms: at least its at_least, at most its
 * max_held. */
int64_t request_lease_ms(const struct acquire *acquire);

/* One call of the script. The request queues if its `wait_ms` is not 0. */
struct request {
    struct slice key; /* the main key of the name */
    const struct acquire *acquire;
    const struct attempt *attempt;
    enum request_kind kind;
    bool (*is_wanted)(const void *context); /* this and the next two as in struct script_call */
    store_done *done;
    void *context;
};

void request_send(struct locks *locks, const struct request *request);

/* The same at one shard. A call that came too late is not made again, since the request may have
 * been taken back by then. */
void request_send_at(struct locks *locks, unsigned shard, const struct request *request);

/* Notifies the owner of the locks if the limits of a name differ. */
void request_note_limits(const struct locks *locks, const struct acquire *acquire,
                         const struct request_answer *answer);

/* What an answer means; without an answer, LOCKS_UNAVAILABLE. */
void request_read(const struct store_result *result, const struct acquire *acquire,
                  const struct attempt *attempt, struct request_answer *ret);

/* Whether Redis may have granted or queued the request although no answer says so. If it may, take
 * it back. */
bool request_is_in_doubt(const struct store_result *result, const struct request_answer *answer);

#endif
