/* names.h: a sorted copy of names that are asked for together. Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_NAMES_H
#define BATON_LOCKS_TYPES_NAMES_H

#include "base/slice.h"

struct names {
    size_t count;
    struct slice each[]; /* in the order of their bytes */
};

/* Copies the names, and moves each of the other texts into the same block of memory. Free it by
 * free(3). */
struct names *names_sorted(const struct slice *names, size_t count, struct slice *const *texts,
                           size_t text_count);

#endif
