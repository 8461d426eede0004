/* samples.h: reads the Prometheus text format, and finds what is wrong with it. */
#ifndef BATON_TESTS_SUPPORT_SAMPLES_H
#define BATON_TESTS_SUPPORT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct sample {
    const char *series; /* name and labels, as written */
    double value;
};

struct samples {
    char *text; /* a copy, cut into pieces */
    struct sample *all;
    size_t count;
    char trouble[512]; /* what is wrong first, "" where nothing is */
};

/* Reads a text and checks it: each name is introduced once by HELP and TYPE and followed by all its
 * samples, no series stands twice, counters end in _total and are not negative, the buckets of a
 * histogram ascend, add up and end with +Inf, which is its count, and its sum is not beyond what
 * the buckets admit. `goes_on`: something was counted meanwhile, which may be missing from the sum
 * (see histograms_write). To be freed by samples_free, whatever is wrong. */
struct samples samples_read(const char *text, bool goes_on);
void samples_free(struct samples *samples);

/* The value of a series, such as `baton_workers` or `up{job="a"}`; NAN where there is none. */
double samples_value(const struct samples *samples, const char *series);

/* The sum of all series whose text begins so; 0 where there are none. */
double samples_sum(const struct samples *samples, const char *beginning);

#endif
