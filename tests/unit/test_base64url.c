#include "base/base64url.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

enum { LONGEST = 300, LONGEST_TEXT = BASE64URL_LENGTH(LONGEST) };

static const struct pair {
    const char *bytes;
    const char *text;
} PAIRS[] = {
    {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
    {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "-_-_"},
};

TEST(the_examples_of_the_rfc_hold)
{
    for (size_t i = 0; i < LENGTH(PAIRS); i++) {
        char text[16], bytes[16];
        size_t length = 99;
        base64url_encode(PAIRS[i].bytes, strlen(PAIRS[i].bytes), text);
        assert_string_equal(text, PAIRS[i].text);
        assert_int_equal(base64url_decode(slice_of(text), bytes, &length), 0);
        assert_int_equal(length, strlen(PAIRS[i].bytes));
        assert_memory_equal(bytes, PAIRS[i].bytes, length);
    }
}

/* All values in all places, over the lengths. */
TEST(bytes_of_every_length_come_back)
{
    for (size_t length = 0; length <= LONGEST; length++) {
        unsigned char bytes[LONGEST] = {0}, back[LONGEST_TEXT * 3 / 4];
        char text[LONGEST_TEXT + 1];
        size_t back_length = 0;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)(i * 7 + length);
        memset(text, '#', sizeof text);
        base64url_encode(bytes, length, text);
        assert_int_equal(strlen(text), BASE64URL_LENGTH(length));
        assert_int_equal(base64url_decode(slice_of(text), back, &back_length), 0);
        assert_int_equal(back_length, length);
        if (length > 0)
            assert_memory_equal(back, bytes, length);
    }
}

TEST(characters_of_the_alphabet_are_their_six_bits)
{
    static const char ALPHABET[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int c = 0; c < 256; c++) {
        const char text[] = {'A', 'A', 'A', (char)c};
        unsigned char bytes[3];
        size_t length = 0;
        const char *place = memchr(ALPHABET, c, 64);
        int result = base64url_decode((struct slice){text, sizeof text}, bytes, &length);
        assert_int_equal(result, place ? 0 : -EINVAL);
        if (place)
            assert_int_equal(bytes[2], place - ALPHABET);
    }
}

TEST(no_text_but_the_one_that_encoding_gives_is_read)
{
    static const char *const BAD[] = {
        "A",         "AAAAA",        "Z",            /* six bits are no byte */
        "Zm9vY",                                     /* nor are they at the end of more */
        "Zh",        "Zv",           "Z_",           /* bits left over that are not 0 */
        "Zm9",       "Zm-",          "AB",    "AAB", /* the same */
        "Zg==",      "Zm8=",         "=",            /* padding */
        "Zm9v\n",    " Zm9v",        "Zm 9v",        /* white space */
        "+_-_",      "-/-_",                         /* the other alphabet */
        "Zm9v.Zm9v", "Zm9v\xc3\xa9",
    };
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        char bytes[16];
        size_t length = 99;
        if (base64url_decode(slice_of(BAD[i]), bytes, &length) != -EINVAL || length != 99)
            fail_msg("\"%s\" is read", BAD[i]);
    }
}

/* Of all texts of two characters, each byte has exactly one. */
TEST(every_byte_has_one_text)
{
    size_t seen[256] = {0}, read = 0;
    for (unsigned number = 0; number < 1u << 16; number++) {
        const char text[] = {(char)(number >> 8), (char)number};
        unsigned char bytes[2];
        size_t length = 0;
        if (base64url_decode((struct slice){text, sizeof text}, bytes, &length) < 0)
            continue;
        assert_int_equal(length, 1);
        read++;
        seen[bytes[0]]++;
    }
    assert_int_equal(read, 256);
    for (size_t i = 0; i < 256; i++)
        assert_int_equal(seen[i], 1);
}
