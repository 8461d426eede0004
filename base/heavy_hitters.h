/* heavy_hitters.h: the most frequent names of a long stream, and the names with the greatest
 * values, in bounded memory. */
#ifndef BATON_BASE_HEAVY_HITTERS_H
#define BATON_BASE_HEAVY_HITTERS_H

#include "base/slice.h"

#include <stdint.h>

enum {
    HEAVY_HITTERS_MOST = 256,
    PEAKS_MOST = 100,
    RANKED_NAME = 255, /* bytes, at most */
};

struct ranked {
    uint64_t value;
    uint64_t error; /* the true value is at most `value`, and at least `value` less this */
    unsigned char length;
    char name[RANKED_NAME];
};

/* Counts by the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, Efficient computation of
 * frequent and top-k elements in data streams, ICDT 2005): a new name replaces the one with the
 * least count, and inherits that count as its error. So no count is too low, each is too high by
 * the total / HEAVY_HITTERS_MOST at most, and every name with more than that is here. Zeroed:
 * empty. */
struct heavy_hitters {
    size_t used;
    uint64_t hashes[HEAVY_HITTERS_MOST];
    struct ranked all[HEAVY_HITTERS_MOST];
};

/* A name always has the same `hash`. */
void heavy_hitters_add(struct heavy_hitters *hitters, uint64_t hash, struct slice name,
                       uint64_t count);

/* The names with the greatest values, each with its greatest value: exact. Zeroed: empty. */
struct peaks {
    size_t used;
    size_t least; /* index of the least one, once all are used */
    uint64_t hashes[PEAKS_MOST];
    struct ranked all[PEAKS_MOST];
};

void peaks_note(struct peaks *peaks, uint64_t hash, struct slice name, uint64_t value);

/* Merges summaries into one array for free(3), of *ret_count, sorted by `value` less `error`, the
 * greatest first. A name that a full summary lacks may have come as often as the least one there
 * (Agarwal and others, Mergeable summaries, PODS 2012), so the bounds add up. */
struct ranked *heavy_hitters_merge(const struct heavy_hitters *const *all, size_t count,
                                   size_t *ret_count);
struct ranked *peaks_merge(const struct peaks *const *all, size_t count, size_t *ret_count);

#endif
