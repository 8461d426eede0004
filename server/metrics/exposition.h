/* exposition.h: writes what the workers have counted for Prometheus, in its text format. */
#ifndef BATON_SERVER_METRICS_EXPOSITION_H
#define BATON_SERVER_METRICS_EXPOSITION_H

#include "api/stats/hold_counter.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"

#include <time.h>

/* What it is written from. */
struct exposition {
    const struct metrics *metrics; /* of each worker */
    size_t workers;
    const struct hold_counter *hold_counter; /* NULL: nobody counts holds */
    const struct log *log;                   /* NULL: there is none */
    time_t started;                          /* the process was */
};

/* The text is the caller's, to be given to free. NULL where there is no memory. Of any thread. */
char *exposition_text(const struct exposition *exposition);

#endif
