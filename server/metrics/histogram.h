/* histogram.h: counts durations in fixed buckets, as Prometheus histograms do. */
#ifndef BATON_SERVER_METRICS_HISTOGRAM_H
#define BATON_SERVER_METRICS_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_BOUNDS = 14 };

/* Upper bounds of buckets in microseconds, ascending. Longer values have a bucket of their own. */
typedef uint64_t histogram_scale[HISTOGRAM_BOUNDS];

extern const histogram_scale HISTOGRAM_QUICK; /* 50 us to 1 s: requests, commands */
extern const histogram_scale HISTOGRAM_WAITS; /* 1 ms to 5 min */
extern const histogram_scale HISTOGRAM_HOLDS; /* 10 ms to a day */

/* Begins zeroed. One thread writes, any may read. A bucket counts only its own values. */
struct histogram {
    atomic_uint_fast64_t buckets[HISTOGRAM_BOUNDS + 1];
    atomic_uint_fast64_t sum; /* microseconds */
};

void histogram_observe(struct histogram *histogram, const histogram_scale scale,
                       uint64_t microseconds);

/* Histograms of one scale, `stride` bytes apart. */
struct histograms {
    const struct histogram *first;
    size_t stride;
    size_t count;
};
/* Writes their sum as samples of `name`: cumulative buckets, sum and count. `labels` is the start
 * of their labels ("" or `route="/",`). */
void histograms_write(FILE *out, const struct histograms *all, const histogram_scale scale,
                      const char *name, const char *labels);

/* Returns how many values they have together. */
uint64_t histograms_total(const struct histograms *all);

#endif
