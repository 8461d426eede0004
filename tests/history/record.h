/* record.h: what a client writes down of its requests. */
#ifndef BATON_TESTS_HISTORY_RECORD_H
#define BATON_TESTS_HISTORY_RECORD_H

#include "tests/history/history.h"

/* Zeroed to begin with; of one thread. */
struct record {
    struct event *events;
    size_t count, room;
};

/* Adds the event. Valid until the next one is added. */
struct event *record_add(struct record *record, const struct event *event);

/* Moves the events of `from` to `to`. */
void record_take(struct record *to, struct record *from);

void record_free(struct record *record);

#endif
