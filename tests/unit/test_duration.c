#include "base/duration.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct reading {
    const char *text;
    int64_t ms;
} READINGS[] = {
    {"0", 0},
    {"0ms", 0},
    {"1", 1000},
    {"007", 7000},
    {"1ms", 1},
    {"500ms", 500},
    {"30s", 30000},
    {"5m", 300000},
    {"2h", 7200000},
    {"90m", 5400000},
    {"9007199254740991ms", INT64_C(9007199254740991)},
    {"9007199254740", INT64_C(9007199254740000)},
    {"9007199254740s", INT64_C(9007199254740000)},
    {"150119987579m", INT64_C(9007199254740000)},
    {"2501999792h", INT64_C(9007199251200000)},
};

TEST(a_number_and_a_unit_are_read)
{
    for (size_t i = 0; i < LENGTH(READINGS); i++) {
        int64_t ms = -1;
        if (duration_parse(slice_of(READINGS[i].text), &ms) != 0 || ms != READINGS[i].ms)
            fail_msg("%s is read as %" PRId64, READINGS[i].text, ms);
    }
}

TEST(anything_else_is_refused_and_sets_nothing)
{
    static const char *const BAD[] = {
        "",
        "s",
        "ms",
        "-1",
        "+1",
        "1.5s",
        "1,5s",
        "1e3",
        "0x10",
        " 1",
        "1 ",
        "1 s",
        "1S",
        "1MS",
        "1d",
        "1us",
        "1sec",
        "1mss",
        "1m30s",
        "s1",
        "9007199254740992ms",
        "9007199254741",
        "9007199254741s",
        "150119987580m",
        "2501999793h",
        "18446744073709551617ms",
        "99999999999999999999999999999999",
    };
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        int64_t ms = -1;
        if (duration_parse(slice_of(BAD[i]), &ms) != -EINVAL || ms != -1)
            fail_msg("\"%s\" is read as %" PRId64, BAD[i], ms);
    }
}

TEST(only_the_slice_is_read)
{
    int64_t ms = -1;
    assert_int_equal(duration_parse((struct slice){"12sX", 3}, &ms), 0);
    assert_int_equal(ms, 12000);
    assert_int_equal(duration_parse((struct slice){"5ms", 2}, &ms), 0);
    assert_int_equal(ms, 300000);
    assert_int_equal(duration_parse((struct slice){"1\0s", 3}, &ms), -EINVAL);
    assert_int_equal(duration_parse(slice_of(NULL), &ms), -EINVAL);
    assert_int_equal(ms, 300000);
}

static const struct writing {
    int64_t ms;
    const char *text;
} WRITINGS[] = {
    {0, "0s"},
    {1, "1ms"},
    {999, "999ms"},
    {1000, "1s"},
    {1001, "1001ms"},
    {59000, "59s"},
    {60000, "1m"},
    {90000, "90s"},
    {3600000, "1h"},
    {3660000, "61m"},
    {86400000, "24h"},
    {INT64_C(9007199254740991), "9007199254740991ms"},
    {INT64_MAX, "9223372036854775807ms"},
};

TEST(the_largest_unit_that_divides_is_written)
{
    for (size_t i = 0; i < LENGTH(WRITINGS); i++) {
        char text[DURATION_TEXT];
        duration_format(WRITINGS[i].ms, text);
        assert_string_equal(text, WRITINGS[i].text);
    }
}

TEST(duration_is_spoken_in_hours_minutes_and_seconds)
{
    static const struct writing SPOKEN[] = {
        {0, "0 s"},
        {999, "0 s"},
        {59000, "59 s"},
        {60000, "1 min"},
        {3601000, "1 h 1 s"},
        {30000000, "8 h 20 min"},
        {86399999, "23 h 59 min 59 s"},
        {INT64_MAX, "2562047788015 h 12 min 55 s"},
    };
    for (size_t i = 0; i < LENGTH(SPOKEN); i++) {
        char text[DURATION_SPOKEN];
        duration_speak(SPOKEN[i].ms, text);
        assert_string_equal(text, SPOKEN[i].text);
    }
}

TEST(written_duration_is_read_back)
{
    for (int64_t ms = 0; ms < INT64_C(1) << 52; ms = ms * 3 + 1000 * (ms % 2) + 1) {
        char text[DURATION_TEXT];
        int64_t back = -1;
        duration_format(ms, text);
        assert_int_equal(duration_parse(slice_of(text), &back), 0);
        assert_true(back == ms);
    }
}
