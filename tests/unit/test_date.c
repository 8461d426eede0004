#include "base/date.h"
#include "tests/support/cmocka.h"

#include <time.h>

enum { DAYS = 80000 }; /* into 2189 */

/* Each day has the date that the library gives it. */
TEST(a_day_has_its_date)
{
    for (int64_t day = 0; day < DAYS; day++) {
        struct tm parts;
        time_t noon = (time_t)(day * 86400 + 43200);
        assert_non_null(gmtime_r(&noon, &parts));
        struct date date = date_of(day);
        assert_int_equal(date.year, parts.tm_year + 1900);
        assert_int_equal(date.month, parts.tm_mon + 1);
        assert_int_equal(date.day, parts.tm_mday);
    }
}
