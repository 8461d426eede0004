/* happenings.h: tells what happens to locks to each of those in the process that want to know. */
#ifndef BATON_SERVER_HAPPENINGS_H
#define BATON_SERVER_HAPPENINGS_H

#include "api/stats/lock_event.h"

struct contention_part;
struct log;
struct metrics;

/* A worker's own: who is told, in the order of happenings.c. */
struct happenings {
    struct metrics *metrics;
    const struct log *log;
    struct contention_part *contention;
};

/* For struct api's `on_lock_event`; `context` is a struct happenings. */
void happenings_tell(void *context, const struct lock_event *event,
                     const struct exchange *exchange);

#endif
