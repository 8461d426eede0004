/* value.h: reads a reply of Redis without trusting its shape. */
#ifndef BATON_REDIS_TYPES_VALUE_H
#define BATON_REDIS_TYPES_VALUE_H

#include "base/slice.h"

#include <stdint.h>

/* One node of a reply. The store owns it; it is valid only during the callback that gets it. Every
 * function here also takes NULL, and finds no value in it. */
struct value;

/* Returns 0 for anything but an array. */
size_t value_count(const struct value *array);

/* Returns NULL if there is no such element. */
const struct value *value_at(const struct value *array, size_t index);

/* 2^53 - 1: Lua counts exactly from -VALUE_HIGHEST to VALUE_HIGHEST. */
#define VALUE_HIGHEST INT64_C(9007199254740991)

/* Returns false and leaves *ret alone for anything but an integer in that range. */
bool value_integer(const struct value *value, int64_t *ret);

/* Returns false and leaves *ret alone for anything but a string (bulk or status). */
bool value_text(const struct value *value, struct slice *ret);

#endif
