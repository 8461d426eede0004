/* duration.h: durations as people write them: `500ms`, `30s`, `5m`, `2h`; a bare number is seconds.
 */
#ifndef BATON_BASE_DURATION_H
#define BATON_BASE_DURATION_H

#include "base/slice.h"

#include <stdint.h>

enum {
    DURATION_TEXT = 24,   /* room for duration_format, NUL included */
    DURATION_RANGE = 128, /* room for duration_describe */
    DURATION_SPOKEN = 48, /* room for duration_speak */
};

/* Reads a whole number and a unit. Returns 0, or -EINVAL with *ret_ms untouched: no digits, another
 * unit, a sign, a fraction, white space, or more than 2^53-1 milliseconds. */
int duration_parse(struct slice text, int64_t *ret_ms);

/* Writes `ms` (not negative) in the largest unit that divides it: 90000 is "90s", 0 is "0s". */
void duration_format(int64_t ms, char text[DURATION_TEXT]);

/* Writes whole seconds, rounded down, as people say them: 30000000 is "8 h 20 min". Writes at least
 * "0 s". */
void duration_speak(int64_t ms, char text[DURATION_SPOKEN]);

/* Describes a valid duration: its bounds, and its form. */
void duration_describe(int64_t lowest_ms, int64_t highest_ms, char text[DURATION_RANGE]);

#endif
