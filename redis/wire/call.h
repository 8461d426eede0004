/* call.h: one command to Redis: its bytes and the callback for its reply; and a queue of calls. */
#ifndef BATON_REDIS_WIRE_CALL_H
#define BATON_REDIS_WIRE_CALL_H

#include "redis/types/script_call.h"

struct redisReply;

typedef void call_answered(void *context, const struct redisReply *reply);

/* A first-in, first-out list; zeroed is empty. */
struct call_queue {
    struct call *head;
    struct call *tail;
};

/* What the router of a Cluster (redis/cluster/router.h) notes of a call. */
struct routing {
    unsigned *open; /* counts the calls under way in its slot; NULL: this call is not under way */
    uint64_t serial;
    uint64_t give_up; /* on the loop's clock, in ms: from then on it is not sent again */
    unsigned slot;
    unsigned node;    /* where it was sent last, or goes next */
    unsigned detours; /* how often a node has redirected it */
    bool is_on;
};

/* One of three: a script call; a command that makes several script calls, its `parts`; or a command
 * of a few words. The last two have no `script`, and their `answered` may be NULL. */
struct call {
    struct call *next;
    call_answered *answered; /* as in session_ask */
    unsigned tries;
    unsigned turns; /* how often its script has done a part of its work */
    const struct script *script;
    store_done *done;
    bool (*is_wanted)(const void *context); /* as in struct script_call */
    void *context;                          /* of `done` and `is_wanted` */
    size_t key_count;                       /* 0, 1 or 2 */
    bool is_once;                           /* as in struct script_call */
    bool is_first;                          /* it goes by node_eval_first */
    bool asking;                            /* ASKING is sent before it */
    bool is_part;                           /* it was sent as one of the `parts` of another */
    bool is_full; /* it goes to the function that is called where Redis is full */
    struct routing routing;
    uint64_t begun;     /* when a script call was sent (uv_hrtime) */
    uint64_t deadline;  /* on the loop's clock, in ms */
    unsigned answer_ms; /* how long Redis has to answer */
    uint64_t end;       /* position behind it in the connection's output */
    size_t stamp;       /* where in `bytes` the text of the script's first argument begins */
    size_t arguments;   /* how many follow it */
    size_t key_length;
    struct call_queue parts; /* the script calls that this command makes */
    size_t length;
    char bytes[]; /* the command in the Redis protocol; kept so that it can be sent again */
};

/* Makes a command of a few words. As with every call, free(3) frees it. */
struct call *call_new(const struct slice *words, size_t count);

/* Makes a script call that gives its key to the script `key_count` times, 2 at most. A script that
 * gets the key twice runs in a Cluster, where the name may be moving to another node. A script
 * without a key looks at the whole server: see locks/scripts/shared/02-call.lua. */
struct call *call_new_script(const struct script_call *script_call, size_t key_count);

/* Makes one command of these script calls, which are its parts from then on. Each has one key, and
 * a stamp, of which that of the first counts; all are of one library. */
struct call *call_new_many(struct call_queue *calls);

/* Redis has so long to answer, from now on: the loop's clock may be behind by as long as this
 * process stood still. */
void call_allow(struct call *call, unsigned answer_ms);

/* The key of a script call. Absent if it has none. */
struct slice call_key(const struct call *call);

/* Makes the same call of the function that takes the place of this one where Redis is full, and
 * frees this call. */
struct call *call_when_full(struct call *call);

/* Runs the call's callback and frees the call. */
void call_end(struct call *call, const struct store_result *result);

/* As call_end. */
void call_finish(struct call *call, enum store_outcome outcome, const struct value *reply,
                 const char *error);

/* Frees the call without running its callback. */
void call_forget(struct call *call);

void call_queue_push(struct call_queue *queue, struct call *call);

/* Returns NULL if the queue is empty. */
struct call *call_queue_pop(struct call_queue *queue);

/* Returns all calls and leaves the queue empty. */
struct call_queue call_queue_take(struct call_queue *queue);

#endif
