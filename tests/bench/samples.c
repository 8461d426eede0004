#include "tests/bench/samples.h"

#include <err.h>
#include <stdlib.h>

void samples_add(struct samples *samples, int64_t value)
{
    if (samples->count == samples->room) {
        samples->room = samples->room ? 2 * samples->room : 1024;
        samples->values = reallocarray(samples->values, samples->room, sizeof *samples->values);
        if (!samples->values)
            err(2, "samples");
    }
    samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int64_t samples_percentile(struct samples *samples, unsigned percent)
{
    if (samples->count == 0)
        return 0;
    qsort(samples->values, samples->count, sizeof *samples->values, compare);
    size_t rank = (samples->count * percent + 99) / 100;
    return samples->values[rank > 0 ? rank - 1 : 0];
}

void samples_clear(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){0};
}
