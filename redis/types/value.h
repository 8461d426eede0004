/* value.h: reads a reply of Redis without trusting its shape. */
#ifndef BATON_REDIS_TYPES_VALUE_H
#define BATON_REDIS_TYPES_VALUE_H

#include "base/slice.h"

#include <stdint.h>

/* One node of a reply. Owned by the store and valid only during the callback that hands it over.
 * Every function here takes NULL, and answers it as "not of that kind". */
struct value;

/* 0 for anything but an array. */
size_t value_count(const struct value *array);

/* NULL where there is no such element. */
const struct value *value_at(const struct value *array, size_t index);

/* The numbers of Lua: 2^53 - 1 and its opposite are the last that it counts exactly. */
#define VALUE_HIGHEST INT64_C(9007199254740991)

/* False, with *ret untouched, for anything but an integer between these. */
bool value_integer(const struct value *value, int64_t *ret);

/* False, with *ret untouched, for anything but a string (bulk or status). */
bool value_text(const struct value *value, struct slice *ret);

#endif
