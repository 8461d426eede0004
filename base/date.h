/* date.h: the day of the calendar and a time in UTC, without the lock that gmtime_r takes; any
 * thread, and signal handlers. */
#ifndef BATON_BASE_DATE_H
#define BATON_BASE_DATE_H

#include <stdint.h>

struct date {
    unsigned year, month, day; /* month and day from 1 on */
};

/* The date `days` (not negative) after 1 January 1970 (UTC). */
struct date date_of(int64_t days);

enum { DATE_TEXT = 24 }; /* characters of 2026-11-29T04:15:00.123Z */

/* Writes a time since 1970, in the format of RFC 3339, without a NUL behind it. Returns its end. */
char *date_put(char *at, int64_t seconds, unsigned ms);

#endif
