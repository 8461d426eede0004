#include "base/date.h"

enum {
    DAYS_BEFORE_1970 = 719468, /* since 1 March of the year 0 */
    DAYS_OF_ERA = 146097,      /* 400 years */
    DAYS_OF_CENTURY = 36524,
    DAYS_OF_FOUR_YEARS = 1460,
    SECONDS_OF_DAY = 86400,
};

struct date {
    unsigned year, month, day; /* month and day from 1 on */
};

/* Years begin with March here, so that a leap day is the last of its year. */
static struct date date_of(int64_t days)
{
    int64_t since = days + DAYS_BEFORE_1970;
    unsigned era = (unsigned)(since / DAYS_OF_ERA), of_era = (unsigned)(since % DAYS_OF_ERA);
    unsigned year = (of_era - of_era / DAYS_OF_FOUR_YEARS + of_era / DAYS_OF_CENTURY -
                     of_era / (DAYS_OF_ERA - 1)) /
                    365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
    unsigned march = (5 * of_year + 2) / 153; /* months since March, of 153 days in five */
    unsigned month = march < 10 ? march + 3 : march - 9;
    return (struct date){era * 400 + year + (month <= 2), month,
                         of_year - (153 * march + 2) / 5 + 1};
}

/* The last digits of the number, and what follows them. */
static char *date_put_digits(char *at, unsigned number, int digits, char behind)
{
    for (int i = digits; i-- > 0; number /= 10)
        at[i] = (char)('0' + number % 10);
    at[digits] = behind;
    return at + digits + 1;
}

void date_put(char *at, int64_t seconds, unsigned ms)
{
    struct date date = date_of(seconds / SECONDS_OF_DAY);
    unsigned second = (unsigned)(seconds % SECONDS_OF_DAY);
    at = date_put_digits(at, date.year, 4, '-');
    at = date_put_digits(at, date.month, 2, '-');
    at = date_put_digits(at, date.day, 2, 'T');
    at = date_put_digits(at, second / 3600, 2, ':');
    at = date_put_digits(at, second / 60 % 60, 2, ':');
    at = date_put_digits(at, second % 60, 2, '.');
    date_put_digits(at, ms, 3, 'Z');
}
