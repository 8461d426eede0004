/* crowd.h: many clients that do as a seed says, and write down what they see. */
#ifndef BATON_TESTS_HISTORY_CROWD_H
#define BATON_TESTS_HISTORY_CROWD_H

#include "tests/history/record.h"

enum { CROWD_SERVERS = 2 };

struct crowd_plan {
    uint64_t seed;
    int threads;
    int64_t duration_ms; /* and longer, until each has taken so many steps */
    int steps;
    const char *urls[CROWD_SERVERS]; /* each request goes to any of them */
    int ports[CROWD_SERVERS];
    void (*meanwhile)(void *context, int quarter); /* runs on the calling thread after 1, 2 and 3 */
    void *context;                                 /* quarters of the time; may be NULL */
};

/* Runs the clients until the time is over. What each thread draws depends on the seed and the
 * number of its step alone. Free the record. */
void crowd_run(const struct crowd_plan *plan, struct record *ret);

#endif
