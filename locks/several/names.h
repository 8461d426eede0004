/* names.h: a sorted copy of names that are asked for together. Internal to locks/. */
#ifndef BATON_LOCKS_SEVERAL_NAMES_H
#define BATON_LOCKS_SEVERAL_NAMES_H

#include "base/slice.h"

#include <stdint.h>

struct names {
    size_t count;
    struct slice each[]; /* in the order of their bytes */
};

/* Copies the names, and moves each of the other texts into the same block of memory. Free it by
 * free(3). */
struct names *names_sorted(const struct slice *names, size_t count, struct slice *const *texts,
                           size_t text_count);

/* A number for these names together: equal for the same ones, and most likely for no others. 0 for
 * a single name, so that it is the same name alone. */
int64_t names_number(const struct names *names);

#endif
