/* script_call.h: runs a script in Redis, again if Redis was too slow, and reports what its reply
 * has besides: expired holds, and names that cannot be read. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_SCRIPT_CALL_H
#define BATON_LOCKS_CALLS_SCRIPT_CALL_H

#include "redis/store.h"

struct locks;

/* As store_eval. Makes a call that came too late again while it is wanted. Any script may find
 * expired holds and report them beside its reply: they go to the event `expired` of struct
 * locks_events, and `done` gets the reply alone. Each is reported once, to the worker whose script
 * found it, or not at all if the reply is lost. This worker also supervises what the script has
 * sent to other workers by messages that may be lost: see subscription_supervise. */
void script_call_send(struct locks *locks, const struct script_call *call);

/* The same for a shard as a whole: see store_eval_at. */
void script_call_send_at(struct locks *locks, unsigned shard, const struct script_call *call);

/* The same, but does not repeat a call that came too late. A script that replies "unfinished" has
 * granted nothing: it runs again while it is wanted. */
void script_call_send_at_once(struct locks *locks, unsigned shard, const struct script_call *call);

/* Reports that a script could not read what Redis keeps under this key. */
void script_call_report_damaged(struct locks *locks, struct slice key, const char *error);

#endif
