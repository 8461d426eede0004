/* lock_observers.h: reports each lock event to the metrics, the journal and the contention
 * table. */
#ifndef BATON_SERVER_PROCESS_LOCK_OBSERVERS_H
#define BATON_SERVER_PROCESS_LOCK_OBSERVERS_H

#include "api/stats/lock_event.h"

struct contention_part;
struct log;
struct metrics;

/* Each worker has its own. */
struct lock_observers {
    struct metrics *metrics;
    const struct log *log;
    struct contention_part *contention;
};

/* The `on_lock_event` of struct api; `context` is a struct lock_observers. */
void lock_observers_notify(void *context, const struct lock_event *event,
                           const struct exchange *exchange);

#endif
