/* samples.h: durations that were measured, and what they come to. */
#ifndef BATON_TESTS_BENCH_SAMPLES_H
#define BATON_TESTS_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct samples {
    int64_t *values;
    size_t count;
    size_t room;
};

void samples_add(struct samples *samples, int64_t value);

/* The smallest value that at least `percent` of all are not greater than; 0 where there are none.
 * Sorts the values. */
int64_t samples_percentile(struct samples *samples, unsigned percent);

/* Frees the values; the record may be used again. */
void samples_clear(struct samples *samples);

#endif
