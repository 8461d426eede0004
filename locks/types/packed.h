/* packed.h: numbers and texts in the format of Lua's struct.pack, which a script reads and writes
 * at once. Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_PACKED_H
#define BATON_LOCKS_TYPES_PACKED_H

#include "base/slice.h"

#include <stdint.h>

enum { PACKED_NUMBER = 8 }; /* bytes */

/* Writes the number as `<d`. Returns the position behind it. */
char *packed_put(char *at, double number);

/* Take a number (`<d`, whole, and exact in Lua) or a text (`s`: a NUL ends it) from the front of
 * `rest`. Return false and leave *ret alone if there is none. */
bool packed_take(struct slice *rest, int64_t *ret);
bool packed_take_text(struct slice *rest, struct slice *ret);

#endif
