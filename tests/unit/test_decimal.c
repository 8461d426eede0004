#include "base/decimal.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

TEST(decimal_is_as_printf_writes)
{
    const int64_t numbers[] = {0,
                               1,
                               9,
                               10,
                               99,
                               100,
                               -1,
                               -10,
                               12345,
                               INT32_MAX,
                               INT32_MIN,
                               1700000000,
                               INT64_MAX,
                               INT64_MIN,
                               INT64_MIN + 1,
                               INT64_C(9007199254740991)};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char expected[32], text[DECIMAL_LONGEST + 1];
        snprintf(expected, sizeof expected, "%" PRId64, numbers[i]);
        memset(text, '#', sizeof text);
        char *end = decimal_put(text, numbers[i]);
        assert_int_equal(end - text, strlen(expected));
        assert_memory_equal(text, expected, strlen(expected));
        assert_int_equal(*end, '#'); /* nothing behind it */
    }
}

TEST(the_longest_fits)
{
    char text[DECIMAL_LONGEST];
    assert_int_equal(decimal_put(text, INT64_MIN) - text, DECIMAL_LONGEST);
}
