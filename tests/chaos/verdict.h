/* verdict.h: what tests/history finds wrong with what clients saw while servers were lost, and how
 * long nobody was granted anything. */
#ifndef BATON_TESTS_CHAOS_VERDICT_H
#define BATON_TESTS_CHAOS_VERDICT_H

#include "tests/history/checker.h"
#include "tests/history/record.h"

struct verdict {
    size_t grants;
    size_t lost;        /* holds that were gone before their TTL was over */
    size_t doubles;     /* grants of a name that another client counted on at that time */
    size_t backward;    /* fences not greater than one that was reported before it was asked for */
    size_t twins;       /* fences of a name that were given out twice */
    int64_t longest_us; /* between two grants, of any name */
    int64_t longest_of_name_us; /* and of the same one */
    char first_double[FINDING_TEXT], first_loss[FINDING_TEXT];
};

/* Whether the event is a grant that a client was told of. */
static inline bool is_grant(const struct event *event)
{
    return event->operation == ACQUIRE && event->outcome == DONE;
}

/* Sorts the events by when they were over, as what follows needs them. */
void verdict_sort(struct record *record);

/* All that was found until then, by the monotonic clock (us); `longest...` are 0. */
void verdict_until(const struct record *record, int64_t until, struct verdict *ret);

/* Sets how long nobody was granted anything from then until then. */
void verdict_pauses(const struct record *record, int64_t from, int64_t to, struct verdict *verdict);

#endif
