/* histogram.h: how often something took how long, in fixed buckets, as Prometheus wants it. */
#ifndef BATON_SERVER_METRICS_HISTOGRAM_H
#define BATON_SERVER_METRICS_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_BOUNDS = 14 };

/* Upper bounds of buckets in microseconds, ascending. What is longer has a bucket of its own. */
typedef uint64_t histogram_scale[HISTOGRAM_BOUNDS];

extern const histogram_scale HISTOGRAM_QUICK; /* 50 us to 1 s: requests, commands */
extern const histogram_scale HISTOGRAM_WAITS; /* 1 ms to 5 min */
extern const histogram_scale HISTOGRAM_HOLDS; /* 10 ms to a day */

/* Zeroed is empty. One thread writes, any may read; each bucket counts only what is its own. */
struct histogram {
    atomic_uint_fast64_t buckets[HISTOGRAM_BOUNDS + 1];
    atomic_uint_fast64_t sum; /* microseconds */
};

void histogram_observe(struct histogram *histogram, const histogram_scale scale,
                       uint64_t microseconds);

/* Writes the sum of histograms of one scale as samples of `name`: buckets that add up, sum and
 * count. `labels` is how their labels begin ("" or `route="/",`). Their number comes with the
 * distance in bytes from one to the next. */
struct histograms {
    const struct histogram *first;
    size_t stride;
    size_t count;
};
void histograms_write(FILE *out, const struct histograms *all, const histogram_scale scale,
                      const char *name, const char *labels);

/* How many values they have together. */
uint64_t histograms_total(const struct histograms *all);

#endif
