/* date.h: the day of the calendar, without the lock that gmtime_r takes; any thread, and signal
 * handlers. */
#ifndef BATON_BASE_DATE_H
#define BATON_BASE_DATE_H

#include <stdint.h>

struct date {
    unsigned year, month, day; /* month and day from 1 on */
};

/* The date `days` (not negative) after 1 January 1970 (UTC). */
struct date date_of(int64_t days);

#endif
