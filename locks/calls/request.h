/* request.h: an acquire request as the script gets it, and the script's answers. Internal to
 * locks/. */
#ifndef BATON_LOCKS_CALLS_REQUEST_H
#define BATON_LOCKS_CALLS_REQUEST_H

#include "locks/calls/operation.h"

/* What the script knows of the token; the script gets the number. */
enum request_kind {
    REQUEST_NEW = 0,   /* nobody can have used it before */
    REQUEST_FIRST = 1, /* this attempt comes for the first time, an earlier one may have used the
                        * token: both share the hold, which ends when every attempt that was told
                        * of it has given it back */
    REQUEST_AGAIN = 2, /* this attempt came before: it claims its grant, or waits on */
};

/* What only the script's answer to a request that waits can say. */
struct request_answer {
    bool waits;      /* it is in the queue; `next_ms` is set, nothing else */
    int64_t next_ms; /* until the next hold of the name ends; -1 where there is none */
    struct locks_reply reply;
};

/* The identity of the next request. */
struct attempt request_attempt(struct locks *locks, bool of_connection);

/* A copy whose slices point to `bytes`, which has room for request_length(acquire). */
struct acquire request_copy(const struct acquire *acquire, char *bytes);
size_t request_length(const struct acquire *acquire);

/* One call of the script, which only waits, for the queue, if `wait_ms` is not 0. */
struct request {
    struct slice key; /* the main key of the name */
    const struct acquire *acquire;
    const struct attempt *attempt;
    enum request_kind kind;
    bool (*is_wanted)(const void *context); /* as of struct script_call, like the next two */
    store_done *done;
    void *context;
};

void request_send(struct locks *locks, const struct request *request);

/* The same at one shard. What came too late there is not sent again: by then it may
 * have been taken back. See script_call_send_at_once. */
void request_send_at(struct locks *locks, unsigned shard, const struct request *request);

/* What an answer means; where there is none, LOCKS_UNAVAILABLE. */
void request_read(const struct store_result *result, const struct acquire *acquire,
                  const struct attempt *attempt, struct request_answer *ret);

/* Whether the request may have been granted or queued all the same, so that it has to be taken
 * back. */
bool request_is_in_doubt(const struct store_result *result, const struct request_answer *answer);

#endif
