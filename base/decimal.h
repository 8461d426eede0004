/* decimal.h: whole numbers as decimal text, at a tenth of what printf takes for it. */
#ifndef BATON_BASE_DECIMAL_H
#define BATON_BASE_DECIMAL_H

#include "base/slice.h"

#include <stdint.h>

enum {
    DECIMAL_LONGEST = 20,               /* characters: 19 digits and a sign */
    DECIMAL_TEXT = DECIMAL_LONGEST + 1, /* bytes, NUL included */
};

/* Writes the number, without a NUL behind it. Returns its end. */
char *decimal_put(char *at, int64_t number);

/* The number; `text` holds it. */
struct slice decimal_text(int64_t number, char text[DECIMAL_TEXT]);

#endif
