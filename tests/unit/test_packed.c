/* Numbers and texts as struct.pack of Lua has them, and what replies say by them. */
#include "locks/calls/replies.h"
#include "locks/types/packed.h"
#include "redis/types/value.h"
#include "tests/support/cmocka.h"

#include <hiredis/hiredis.h>
#include <math.h>
#include <string.h>

TEST(a_number_is_taken_as_it_was_put)
{
    static const int64_t NUMBERS[] = {0, 1, -1, 1795719620990019, VALUE_HIGHEST, -VALUE_HIGHEST};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        char bytes[PACKED_NUMBER + 1];
        char *end = packed_put(bytes, (double)NUMBERS[i]);
        assert_ptr_equal(end, bytes + PACKED_NUMBER);
        struct slice rest = {bytes, sizeof bytes};
        int64_t number = 7;
        assert_true(packed_take(&rest, &number));
        assert_int_equal(number, NUMBERS[i]);
        assert_int_equal(rest.length, 1);
    }
}

TEST(bytes_of_one_are_those_of_lua)
{
    char bytes[PACKED_NUMBER];
    packed_put(bytes, 1);
    assert_memory_equal(bytes, "\0\0\0\0\0\0\xf0\x3f", sizeof bytes);
}

TEST(fraction_is_refused)
{
    static const double NUMBERS[] = {0.5, NAN, INFINITY, -INFINITY, 9007199254740992.0, 1e300};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        char bytes[PACKED_NUMBER];
        packed_put(bytes, NUMBERS[i]);
        struct slice rest = {bytes, sizeof bytes};
        int64_t number = 7;
        assert_false(packed_take(&rest, &number));
        assert_int_equal(number, 7);
        assert_int_equal(rest.length, sizeof bytes);
    }
}

TEST(truncated_value_is_refused)
{
    struct slice number = {"1234567", 7}, text = {"abc", 3}, none = {NULL, 0}, found = {NULL, 0};
    int64_t ignored;
    assert_false(packed_take(&number, &ignored));
    assert_false(packed_take_text(&text, &found));
    assert_false(packed_take_text(&none, &found));
    assert_null(found.bytes);
}

TEST(a_text_ends_at_its_nul)
{
    struct slice rest = {"ab\0\0c", 5}, found;
    assert_true(packed_take_text(&rest, &found));
    assert_true(slice_equals(found, "ab"));
    assert_true(packed_take_text(&rest, &found));
    assert_true(slice_equals(found, ""));
    assert_false(packed_take_text(&rest, &found));
    assert_int_equal(rest.length, 1);
}

/* A hold of which so much is left, and so much of its max_held; 0: it has none. */
static struct hold hold_of(double ttl_ms, double max_held_ms)
{
    const double NUMBERS[] = {9, ttl_ms, 1, 9, 0};
    static const char TEXTS[] = "owner\0exclusive";
    char bytes[8 * PACKED_NUMBER + sizeof "renewed" + sizeof TEXTS];
    char *end = mempcpy(bytes, "renewed", sizeof "renewed");
    struct hold hold;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++)
        end = packed_put(end, NUMBERS[i]);
    end = mempcpy(end, TEXTS, sizeof TEXTS);
    end = packed_put(packed_put(end, 0), max_held_ms);
    redisReply reply = {.type = REDIS_REPLY_STRING, .str = bytes, .len = (size_t)(end - bytes)};
    assert_true(reply_read_hold((const struct value *)(const void *)&reply, &hold));
    return hold;
}

TEST(hold_is_final_if_nothing_is_left_of_max_held_beyond_its_ttl)
{
    static const struct {
        int ttl_ms, max_held_ms;
        bool is_final;
    } CASES[] = {{5, 0, false}, {5, 6, false}, {5, 5, true}, {0, 1, true}, {0, 2, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        assert_int_equal(hold_of(CASES[i].ttl_ms, CASES[i].max_held_ms).is_final,
                         CASES[i].is_final);
}
