/* answers.h: callbacks that wait for one event. Internal to locks/. */
#ifndef BATON_LOCKS_QUARANTINE_ANSWERS_H
#define BATON_LOCKS_QUARANTINE_ANSWERS_H

#include <sys/queue.h>

/* With an `error`, for clients, the event has not come. */
typedef void answers_done(void *context, const char *error);

struct answer_waiting;
STAILQ_HEAD(answers, answer_waiting);

void answers_init(struct answers *answers);
void answers_add(struct answers *answers, answers_done *done, void *context);

/* Runs and frees all, in order. */
void answers_run(struct answers *answers, const char *error);

#endif
