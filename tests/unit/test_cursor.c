#include "locks/central/cursor.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

static void assert_same_slice(struct slice left, struct slice right)
{
    assert_int_equal(left.length, right.length);
    if (left.length > 0)
        assert_memory_equal(left.bytes, right.bytes, left.length);
}

static void assert_comes_back(const struct cursor *cursor)
{
    char text[CURSOR_TEXT], bytes[CURSOR_BYTES];
    struct cursor back;
    cursor_encode(cursor, text);
    assert_int_equal(
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        strlen(text));
    assert_int_equal(cursor_decode(slice_of(text), bytes, &back), 0);
    assert_same_slice(back.scan, cursor->scan);
    assert_int_equal(back.position, cursor->position);
    assert_int_equal(back.name_count, cursor->name_count);
    for (size_t i = 0; i < cursor->name_count; i++)
        assert_same_slice(back.names[i], cursor->names[i]);
}

TEST(a_cursor_comes_back)
{
    static const char *const SCANS[] = {"", "0", "17", "18446744073709551615"};
    for (size_t i = 0; i < LENGTH(SCANS); i++) {
        for (size_t count = 0; count <= 3; count++) {
            struct cursor cursor = {
                .position = 7 * (unsigned)count, .scan = slice_of(SCANS[i]), .name_count = count};
            cursor.names[0] = slice_of("deploy");
            cursor.names[1] = slice_of("17");
            cursor.names[2] = slice_of("\xc3\xa9 {%}/");
            if (cursor.scan.length > 0 || count > 0)
                assert_comes_back(&cursor);
        }
    }
}

TEST(the_longest_cursor_comes_back)
{
    char name[NAME_LENGTH];
    struct cursor cursor = {
        .position = 99999, .scan = slice_of("18446744073709551615"), .name_count = CURSOR_NAMES};
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < CURSOR_NAMES; i++)
        cursor.names[i] = (struct slice){name, sizeof name};
    assert_comes_back(&cursor);
}

/* What cursor_encode would never encode, as bytes. */
static const struct garbage {
    struct slice bytes;
    const char *why;
} GARBAGE[] = {
#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    {BYTES(""), "nothing"},
    {BYTES("x"), "no digits"},
    {BYTES("-1"), "a sign"},
    {BYTES("1 "), "a space"},
    {BYTES("1.5"), "a fraction"},
    {BYTES("123456789012345678901"), "21 digits"},
    {BYTES("18446744073709551616"), "a number that Redis has no cursor for"},
    {BYTES("99999999999999999999"), "the largest of 20 digits"},
    {BYTES("007"), "zeros in front"},
    {BYTES(":1"), "no position"},
    {BYTES("0:1"), "the position of the first part"},
    {BYTES("02:1"), "a zero in front of a position"},
    {BYTES("2 :1"), "a space behind a position"},
    {BYTES("100000:1"), "a position beyond all"},
    {BYTES("\0"), "an empty name"},
    {BYTES("1\0"), "an empty name after a cursor"},
    {BYTES("1\0\0a"), "an empty name before another"},
    {BYTES("1\0a\0"), "an empty name after another"},
    {BYTES("1\0\n"), "a control character"},
    {BYTES("1\0\xff"), "no UTF-8"},
    {BYTES("\0a\xc3"), "half a character"},
#undef BYTES
};

TEST(garbage_is_refused)
{
    for (size_t i = 0; i < LENGTH(GARBAGE); i++) {
        char text[CURSOR_TEXT], bytes[CURSOR_BYTES];
        struct cursor cursor;
        base64url_encode(GARBAGE[i].bytes.bytes, GARBAGE[i].bytes.length, text);
        if (cursor_decode(slice_of(text), bytes, &cursor) != -EINVAL)
            fail_msg("%s is read", GARBAGE[i].why);
    }
}

TEST(text_that_is_not_base64url_is_refused)
{
    static const char *const BAD[] = {"!", "MQ==", "M", "MR", "MTc=", "MT c", "0", "null"};
    char bytes[CURSOR_BYTES];
    struct cursor cursor;
    for (size_t i = 0; i < LENGTH(BAD); i++)
        if (cursor_decode(slice_of(BAD[i]), bytes, &cursor) != -EINVAL)
            fail_msg("%s is read", BAD[i]);
}

TEST(a_cursor_that_is_too_long_is_refused)
{
    static char long_bytes[CURSOR_BYTES + 8], text[BASE64URL_LENGTH(sizeof long_bytes) + 1];
    static char name[NAME_LENGTH + 2];
    char bytes[CURSOR_BYTES];
    struct cursor cursor;
    memset(long_bytes, '1', sizeof long_bytes);
    base64url_encode(long_bytes, sizeof long_bytes, text);
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), -EINVAL);

    for (size_t i = 0; i < 2 * (CURSOR_NAMES + 1); i += 2) /* one name too many */
        memcpy(long_bytes + i, "\0a", 2);
    base64url_encode(long_bytes, 2 * (CURSOR_NAMES + 1), text);
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), -EINVAL);
    base64url_encode(long_bytes, 2 * CURSOR_NAMES, text);
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), 0);

    memset(name + 1, 'n', NAME_LENGTH + 1); /* one byte too many in a name */
    base64url_encode(name, NAME_LENGTH + 2, text);
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), -EINVAL);
    base64url_encode(name, NAME_LENGTH + 1, text);
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), 0);
}
