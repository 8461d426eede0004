/* names.h: a sorted copy of the names of one request. Internal to locks/. */
#ifndef BATON_LOCKS_SEVERAL_NAMES_H
#define BATON_LOCKS_SEVERAL_NAMES_H

#include "base/slice.h"

#include <stdint.h>

struct names {
    size_t count;
    struct slice each[]; /* in the order of their bytes */
};

/* Copies the names, and copies and redirects the other texts, all in one block of memory. Free it
 * by free(3). */
struct names *names_sorted(const struct slice *names, size_t count, struct slice *const *texts,
                           size_t text_count);

/* A number for this set of names: equal for equal sets, and almost surely different for others. 0
 * for a single name, as without a set. */
int64_t names_number(const struct names *names);

#endif
