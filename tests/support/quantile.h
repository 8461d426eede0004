/* quantile.h: what most of some measurements do not exceed. */
#ifndef BATON_TESTS_SUPPORT_QUANTILE_H
#define BATON_TESTS_SUPPORT_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

/* Sorts the numbers. Returns the one that so many percent of them are below; 50: the median. */
int64_t quantile(int64_t *all, size_t count, size_t percent);

#endif
