/* ask.h: has Redis run a script for a name, and tells of the holds that it has ended as expired.
 * Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_ASK_H
#define BATON_LOCKS_CALLS_ASK_H

#include "redis/store.h"

struct locks;

/* One call of a script: KEYS[1] and ARGV as of store_eval, all copied. */
struct script_call {
    const struct script *script;
    struct slice key;
    const struct slice *arguments;
    size_t argument_count;
    /* Redis was too slow, so nothing was done: whether the call is to be made again. NULL: yes. */
    bool (*is_wanted)(const void *context);
    store_done *done;
    void *context; /* of both */
};

/* As store_eval. A call that came too late to be run is made again while it is wanted. Any script
 * may find holds that have expired, and then tells of them beside its reply: they are told to the
 * `expired` of struct locks_options, and `done` gets the reply alone. So each is told once, by the
 * server whose script it was; not at all, where the reply got lost. What the script has told other
 * servers, by messages that may be lost, is looked after: see subscription_mind. */
void ask_redis(struct locks *locks, const struct script_call *call);

/* As ask_redis for a shard as a whole: see store_eval_at. */
void ask_redis_at(struct locks *locks, unsigned shard, const struct script_call *call);

/* The same for a call that is not made again where it came too late. Where the script has answered
 * that it is unfinished, having granted nothing, it is made again if it is wanted. */
void ask_redis_at_once(struct locks *locks, unsigned shard, const struct script_call *call);

/* That what Redis keeps of a name cannot be read has been found out from the reply of a script. */
void ask_tell_damaged(struct locks *locks, struct slice key, const char *error);

#endif
