/* date.h: a time as text, without the lock that gmtime_r takes; any thread, and signal handlers. */
#ifndef BATON_BASE_DATE_H
#define BATON_BASE_DATE_H

#include <stdint.h>

enum { DATE_TEXT = 24 }; /* characters of 2026-11-29T04:15:00.123Z */

/* Writes the time `seconds` (not negative) after 1 January 1970 (UTC), in the format of RFC 3339,
 * without a NUL behind it. */
void date_put(char *at, int64_t seconds, unsigned ms);

#endif
