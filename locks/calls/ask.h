/* ask.h: has Redis run a script for a name, and tells of the holds that it has ended as expired.
 * Internal to locks/. */
#ifndef BATON_LOCKS_ASK_H
#define BATON_LOCKS_ASK_H

#include "redis/store.h"

struct locks;

/* As store_eval. A call that came too late to be run is made again. Any script may find holds that
 * have expired, and then tells of them beside its reply: they are told to the `expired` of struct
 * locks_options, and `done` gets the reply alone. So each is told once, by the server whose script
 * it was; not at all, where the reply got lost. What the script has told other servers, by messages
 * that may be lost, is looked after: see subscription_mind. */
void ask_redis(struct locks *locks, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

/* The same for who may not want it any more: of a call that came too late `is_wanted` is asked,
 * with the same context as `done`, whether it is to be made again. */
void ask_redis_while(struct locks *locks, bool (*is_wanted)(const void *context),
                     const struct script *script, struct slice key, const struct slice *arguments,
                     size_t argument_count, store_done *done, void *context);

/* As ask_redis for a part of the store as a whole: see store_eval_at. */
void ask_redis_at(struct locks *locks, unsigned part, const struct script *script, struct slice key,
                  const struct slice *arguments, size_t argument_count, store_done *done,
                  void *context);

/* The same for who may not want it any more, as with ask_redis_while; both get `context`. */
struct ask_events {
    bool (*is_wanted)(const void *context);
    store_done *done;
};

void ask_redis_at_while(struct locks *locks, unsigned part, const struct ask_events *events,
                        const struct script *script, struct slice key,
                        const struct slice *arguments, size_t argument_count, void *context);

/* The same for a call that is not made again where it came too late. Where the script has answered
 * that it is unfinished, having granted nothing, it is made again if `is_wanted`. */
void ask_redis_at_once(struct locks *locks, unsigned part, const struct ask_events *events,
                       const struct script *script, struct slice key, const struct slice *arguments,
                       size_t argument_count, void *context);

/* That what Redis keeps of a name cannot be read has been found out from the reply of a script. */
void ask_tell_damaged(struct locks *locks, struct slice key, const char *error);

#endif
