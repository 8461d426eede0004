/* packed.h: numbers as struct.pack of Lua has them, so that a script reads and writes them at once.
 * Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_PACKED_H
#define BATON_LOCKS_TYPES_PACKED_H

enum { PACKED_NUMBER = 8 }; /* bytes */

/* Writes the number as `<d`. Returns the position behind it. */
char *packed_put(char *at, double number);

#endif
