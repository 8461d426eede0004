#include "server/metrics/histogram.h"

#include <inttypes.h>
#include <string.h>

const histogram_scale HISTOGRAM_QUICK = {50,    100,   250,   500,    1000,   2500,   5000,
                                         10000, 25000, 50000, 100000, 250000, 500000, 1000000};
const histogram_scale HISTOGRAM_WAITS = {1000,     5000,     10000,    50000,    100000,
                                         250000,   500000,   1000000,  2500000,  5000000,
                                         10000000, 30000000, 60000000, 300000000};
const histogram_scale HISTOGRAM_HOLDS = {10000,     50000,      100000,      500000,     1000000,
                                         5000000,   10000000,   30000000,    60000000,   300000000,
                                         900000000, 3600000000, 21600000000, 86400000000};

static void histogram_add(atomic_uint_fast64_t *number, uint64_t more)
{
    uint64_t before = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, before + more, memory_order_relaxed);
}

void histogram_observe(struct histogram *histogram, const histogram_scale scale,
                       uint64_t microseconds)
{
    size_t i = 0;
    while (i < HISTOGRAM_BOUNDS && microseconds > scale[i])
        i++;
    histogram_add(&histogram->buckets[i], 1);
    histogram_add(&histogram->sum, microseconds);
}

static uint64_t histogram_sum(const struct histograms *all, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < all->count; i++) {
        const char *place = (const char *)all->first + i * all->stride + offset;
        total += atomic_load_explicit((const atomic_uint_fast64_t *)(const void *)place,
                                      memory_order_relaxed);
    }
    return total;
}

static uint64_t bucket(const struct histograms *all, size_t i)
{
    return histogram_sum(all,
                         offsetof(struct histogram, buckets) + i * sizeof(atomic_uint_fast64_t));
}

uint64_t histograms_total(const struct histograms *all)
{
    uint64_t total = 0;
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        total += bucket(all, i);
    return total;
}

/* A value that is counted meanwhile may be missing from the sum, but never makes samples differ
 * that must be equal: the count is the last bucket's. */
void histograms_write(FILE *out, const struct histograms *all, const histogram_scale scale,
                      const char *name, const char *labels)
{
    uint64_t total = 0, microseconds = histogram_sum(all, offsetof(struct histogram, sum));
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        total += bucket(all, i);
        fprintf(out, "%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, labels, (double)scale[i] / 1e6,
                total);
    }
    total += bucket(all, HISTOGRAM_BOUNDS);
    fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, total);
    size_t length = strlen(labels);
    const char *open = length ? "{" : "", *close = length ? "}" : "";
    int bare = length ? (int)length - 1 : 0; /* without the comma */
    fprintf(out, "%s_sum%s%.*s%s %" PRIu64 ".%06" PRIu64 "\n", name, open, bare, labels, close,
            microseconds / 1000000, microseconds % 1000000);
    fprintf(out, "%s_count%s%.*s%s %" PRIu64 "\n", name, open, bare, labels, close, total);
}
