#include "tests/history/record.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

struct event *record_add(struct record *record, const struct event *event)
{
    if (record->count == record->room) {
        record->room = record->room ? 2 * record->room : FIRST_ROOM;
        record->events = reallocarray(record->events, record->room, sizeof *record->events);
        if (!record->events)
            abort();
    }
    record->events[record->count] = *event;
    return &record->events[record->count++];
}

void record_take(struct record *to, struct record *from)
{
    for (size_t i = 0; i < from->count; i++)
        record_add(to, &from->events[i]);
    record_free(from);
}

void record_free(struct record *record)
{
    free(record->events);
    *record = (struct record){.events = NULL};
}
