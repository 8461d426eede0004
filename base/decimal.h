/* decimal.h: whole numbers as decimal text, at a tenth of what printf takes for it. */
#ifndef BATON_BASE_DECIMAL_H
#define BATON_BASE_DECIMAL_H

#include <stdint.h>

enum { DECIMAL_LONGEST = 20 }; /* characters: 19 digits and a sign */

/* Writes the number, without a NUL behind it. Returns its end. */
char *decimal_put(char *at, int64_t number);

#endif
