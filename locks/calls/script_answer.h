/* script_answer.h: takes from the answer of a script what the script found beside its reply: holds
 * that have expired, and names that cannot be read. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_SCRIPT_ANSWER_H
#define BATON_LOCKS_CALLS_SCRIPT_ANSWER_H

#include "redis/store.h"

struct locks;

/* The store's event `result`; `context` is the struct locks. Any script may find expired holds and
 * report them beside its reply: they go to the event `expired` of struct locks_events, and `result`
 * keeps the reply alone. Each is reported once, to the worker whose script found it, or not at all
 * if the reply is lost. This worker also supervises what the script has sent to other workers by
 * messages that may be lost: see subscription_supervise. A script that replies "unfinished" has
 * granted nothing; it runs again while it is wanted. */
bool script_answer_take(void *context, unsigned shard, struct store_result *result);

/* A script's reply has shown that what Redis keeps under this key cannot be read. */
void script_answer_report_damaged(struct locks *locks, struct slice key, const char *error);

#endif
