/* exposition.h: writes the workers' counters in Prometheus' text format. */
#ifndef BATON_SERVER_METRICS_EXPOSITION_H
#define BATON_SERVER_METRICS_EXPOSITION_H

#include "api/stats/hold_counter.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"

#include <time.h>

/* The sources of the text. */
struct exposition {
    const struct metrics *metrics; /* of each worker */
    size_t workers;
    const struct hold_counter *hold_counter; /* NULL: holds are not counted */
    const struct log *log;                   /* may be NULL */
    time_t started;                          /* when the process started */
};

/* The caller frees the text with free(3). NULL if memory has run out. Call it on any thread. */
char *exposition_text(const struct exposition *exposition);

#endif
