/* packed.h: numbers and texts as struct.pack of Lua has them, so that a script reads and writes
 * them at once. Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_PACKED_H
#define BATON_LOCKS_TYPES_PACKED_H

#include "base/slice.h"

#include <stdint.h>

enum { PACKED_NUMBER = 8 }; /* bytes */

/* Writes the number as `<d`. Returns the position behind it. */
char *packed_put(char *at, double number);

/* Take a number (`<d`), which must be a whole one that Lua counts exactly, or a text (`s`: a NUL
 * ends it) off the front of `rest`. Return false and leave *ret alone if there is none. */
bool packed_take(struct slice *rest, int64_t *ret);
bool packed_take_text(struct slice *rest, struct slice *ret);

#endif
