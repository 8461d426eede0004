/* table.h: tables with a row for each value of an enum. A missing row, which would be 0 or NULL,
 * fails the build. */
#ifndef BATON_BASE_TABLE_H
#define BATON_BASE_TABLE_H

#include <stdint.h>

/* The rows are a list, #define ROWS(X) X(VALUE, what stands in its row) X(...). The table itself is
 * {ROWS(TABLE_ROW)}. TABLE_IS_COMPLETE(ROWS, count); compares it with an enum of `count` values
 * from 0 on, 63 at most. */
#define TABLE_ROW(value, ...) [value] = __VA_ARGS__,
#define TABLE_BIT(value, ...) | (UINT64_C(1) << (value))
#define TABLE_IS_COMPLETE(rows, count)                                                             \
    _Static_assert((UINT64_C(0) rows(TABLE_BIT)) == (UINT64_C(1) << (count)) - 1,                  \
                   "a row is missing in " #rows)

#endif
