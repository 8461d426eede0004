/* number_text.h: whole numbers as arguments of scripts. Internal to locks/. */
#ifndef BATON_LOCKS_TYPES_NUMBER_TEXT_H
#define BATON_LOCKS_TYPES_NUMBER_TEXT_H

#include "base/slice.h"

#include <stdint.h>

enum { NUMBER_TEXT = 24 }; /* bytes, NUL included */

/* The number in decimal; `text` holds it. */
struct slice number_text(int64_t number, char text[NUMBER_TEXT]);

#endif
