/* exposition.h: writes what the workers have counted for Prometheus, in its text format. */
#ifndef BATON_SERVER_METRICS_EXPOSITION_H
#define BATON_SERVER_METRICS_EXPOSITION_H

#include "api/stats/hold_counter.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"

#include <time.h>

/* What the text is written from. */
struct exposition {
    const struct metrics *metrics; /* of each worker */
    size_t workers;
    const struct hold_counter *hold_counter; /* NULL: holds are not counted */
    const struct log *log;                   /* may be NULL */
    time_t started;                          /* the process was */
};

/* The caller frees the text with free(3). NULL if memory has run out. Call it on any thread. */
char *exposition_text(const struct exposition *exposition);

#endif
