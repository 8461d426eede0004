#include "tests/support/quantile.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int64_t quantile(int64_t *all, size_t count, size_t percent)
{
    qsort(all, count, sizeof *all, compare);
    return all[count * percent / 100];
}
