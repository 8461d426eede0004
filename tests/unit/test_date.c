#include "base/date.h"
#include "tests/support/cmocka.h"

#include <time.h>

enum { DAYS = 80000 }; /* into 2189 */

/* Each day has the date that the library gives it. */
TEST(a_day_has_its_date)
{
    for (int64_t day = 0; day < DAYS; day++) {
        struct tm parts;
        char expected[DATE_TEXT + 1], written[DATE_TEXT + 1] = "";
        time_t time = (time_t)(day * 86400 + day);
        assert_non_null(gmtime_r(&time, &parts));
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.042Z", &parts);
        date_put(written, time, 42);
        assert_string_equal(written, expected);
    }
}
