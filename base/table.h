/* table.h: a table with a row for each value of an enum, where a row that is missing fails the
 * build: it would be 0 or NULL, which may mean something else. */
#ifndef BATON_BASE_TABLE_H
#define BATON_BASE_TABLE_H

#include <stdint.h>

/* The rows are a list, #define ROWS(X) X(VALUE, what stands in its row) X(...). The table itself is
 * {ROWS(TABLE_ROW)}, and TABLE_IS_COMPLETE(ROWS, count); compares them with an enum that begins
 * with 0 and has so many values, 63 at most. */
#define TABLE_ROW(value, ...) [value] = __VA_ARGS__,
#define TABLE_BIT(value, ...) | (UINT64_C(1) << (value))
#define TABLE_IS_COMPLETE(rows, count)                                                             \
    _Static_assert((UINT64_C(0) rows(TABLE_BIT)) == (UINT64_C(1) << (count)) - 1,                  \
                   "a row is missing in " #rows)

#endif
