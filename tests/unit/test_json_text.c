/* JSON whose numbers are beyond the types of C, and integers in any way of writing them. */
#include "api/http/json_text.h"
#include "tests/support/cmocka.h"

TEST(integer_is_read_however_it_is_written)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t number;
    } ALL[] = {
        {"30000", true, 30000},
        {"30000.0", true, 30000},
        {"3e4", true, 30000},
        {"3.0E+4", true, 30000},
        {"300000e-1", true, 30000},
        {"0.0", true, 0},
        {"-0", true, 0},
        {"-1.0", true, -1},
        {"9007199254740991", true, 9007199254740991},
        {"9007199254740991.0", true, 9007199254740991},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"120e-1", true, 12},
        {"0e-400", true, 0},
        {"-0.000e-99999999999999999999", true, 0},
        {"0.5e1", true, 5},
        {"0.05e1", false, 0},
        {"1.50", false, 0},
        {"10.0e-1", true, 1},
        {"10.0e-2", false, 0},
        /* A double rounds these. */
        {"1e-400", false, 0},
        {"-1e-400", false, 0},
        {"1E-99999999999999999999", false, 0},
        {"0.00000000000000000001e-305", false, 0},
        {"1.00000000000000000001", false, 0},
        {"0.99999999999999999999", false, 0},
        {"29999999999999999999999e-18", false, 0},
        {"30000000000000000000000e-18", true, 30000},
        {"9223372036854775807", false, 0},
        {"1e300", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"\"1\"", false, 0},
    };
    for (size_t i = 0; i < LENGTH(ALL); i++) {
        int64_t number = 7;
        json_t *value = json_text_load(slice_of(ALL[i].text), JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        if (json_text_integer(value, &number) != ALL[i].is_integer ||
            number != (ALL[i].is_integer ? ALL[i].number : 7))
            fail_msg("%s", ALL[i].text);
        json_decref(value);
    }
    assert_false(json_text_integer(NULL, &(int64_t){0}));
}

TEST(number_of_any_size_is_json)
{
    static const char *const ALL[] = {
        "[10014255632117358197]",
        "[-9223372036854775809, 1]",
        "{\"a\":[1e999,{\"b\":-1E+5000}],\"c\":\"1e999\"}",
        "[\"\\\"1e999\", 1e999 ]",
        "[\"1e9\\\\\", 99999999999999999999, 1e999]",
    };
    for (size_t i = 0; i < LENGTH(ALL); i++) {
        json_t *value = json_text_load(slice_of(ALL[i]), 0, NULL);
        if (!value)
            fail_msg("%s", ALL[i]);
        json_decref(value);
    }
    json_t *value = json_text_load(slice_of("[1e999, \"1e999\", 9223372036854775808]"), 0, NULL);
    assert_true(json_real_value(json_array_get(value, 0)) == JSON_TEXT_BEYOND);
    assert_string_equal(json_string_value(json_array_get(value, 1)), "1e999");
    assert_true(json_real_value(json_array_get(value, 2)) == 9223372036854775808.0);
    json_decref(value);
}

/* A number that is too large must not make JSON of what is none. */
#define ZEROS_64 "0000000000000000000000000000000000000000000000000000000000000000"
#define ZEROS    ZEROS_64 ZEROS_64 ZEROS_64 ZEROS_64 /* 0x1 with these is beyond a double in C */

TEST(text_that_is_no_json_stays_none)
{
    static const char *const ALL[] = {
        "[1e999, 01e999]",
        "[1e999, 1.e999]",
        "[1e999, -]",
        "[1e999, +1e999]",
        "[1e999, 1e]",
        "[1e999 1]",
        "[1e999, \"1e999",
        "[1e999",
        "[1e999, \"\\",
        "[1e999, 1e9e9]",
        "[1e999, --1e999]",
        "[1e999] 1e999",
        "[1e999, .1e999]",
        "[1e999, 1e999x]",
        "{\"a\":1e999,\"a\":1}",
        "[1e999, 0x1" ZEROS "]",
        "[1e999, 0X1" ZEROS "]",
        "[1e999, -0x1" ZEROS "]",
    };
    for (size_t i = 0; i < LENGTH(ALL); i++) {
        json_error_t error;
        if (json_text_load(slice_of(ALL[i]), JSON_REJECT_DUPLICATES, &error))
            fail_msg("%s", ALL[i]);
        assert_true(error.text[0]);
    }
    assert_null(json_text_load((struct slice){"[1e999,\0 1]", 11}, 0, NULL));
}
