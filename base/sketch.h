/* sketch.h: which names of a long stream come most often, and which had the greatest values, in
 * memory that does not grow. */
#ifndef BATON_BASE_SKETCH_H
#define BATON_BASE_SKETCH_H

#include "base/slice.h"

#include <stdint.h>

enum {
    SKETCH_PLACES = 256,
    PEAKS_PLACES = 100,
    RANKED_NAME = 255, /* bytes, at most */
};

struct ranked {
    uint64_t value;
    uint64_t error; /* the true value is at most `value`, and at least `value` less this */
    unsigned char length;
    char name[RANKED_NAME];
};

/* Counts by the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, Efficient computation of
 * frequent and top-k elements in data streams, ICDT 2005): a name that has no place takes that of
 * the least one, and inherits its count as its error. So no count is too low, none is too high by
 * more than the total / SKETCH_PLACES, and every name with more than that has a place. Zeroed it is
 * empty. */
struct sketch {
    size_t used;
    uint64_t hashes[SKETCH_PLACES];
    struct ranked all[SKETCH_PLACES];
};

/* `hash` is always the same for a name. */
void sketch_add(struct sketch *sketch, uint64_t hash, struct slice name, uint64_t count);

/* The greatest value that was seen of each name, for the names where that is greatest: exact.
 * Zeroed it is empty. */
struct peaks {
    size_t used;
    size_t least; /* the place of the least one, once all are used */
    uint64_t hashes[PEAKS_PLACES];
    struct ranked all[PEAKS_PLACES];
};

void peaks_note(struct peaks *peaks, uint64_t hash, struct slice name, uint64_t value);

/* Together, the greatest first, of counts the greatest `value` less `error`, which is certain: an
 * array for free(3), of *ret_count. What has no place in a full
 * sketch may have been counted there as often as its least one (Agarwal and others, Mergeable
 * summaries, PODS 2012): so the bounds add up. */
struct ranked *sketches_merge(const struct sketch *const *all, size_t count, size_t *ret_count);
struct ranked *peaks_merge(const struct peaks *const *all, size_t count, size_t *ret_count);

#endif
