#include "base/utf8.h"
#include "tests/support/cmocka.h"

#include <string.h>

static const struct boundary {
    const char *bytes;
    bool clean;
    const char *what;
} BOUNDARIES[] = {
    {"", true, "the empty text"},
    {"\x01", false, "first C0 after NUL"},
    {"\t", false, "tab"},
    {"\n", false, "line feed"},
    {"\x1f", false, "last C0"},
    {" ", true, "space"},
    {"~", true, "last before DEL"},
    {"\x7f", false, "DEL"},
    {"\x80", false, "a lone continuation byte"},
    {"\xbf", false, "the last continuation byte"},
    {"\xc0\x80", false, "NUL, overlong"},
    {"\xc1\xbf", false, "DEL, overlong"},
    {"\xc2\x80", false, "first C1"},
    {"\xc2\x85", false, "next line"},
    {"\xc2\x9f", false, "last C1"},
    {"\xc2\xa0", true, "U+00A0"},
    {"\xc2\xc0", false, "a second byte too high"},
    {"\xc3\x7f", false, "a second byte too low"},
    {"\xdf\xbf", true, "U+07FF"},
    {"\xe0\x9f\xbf", false, "U+07FF, overlong"},
    {"\xe0\xa0\x80", true, "U+0800"},
    {"\xec\xbf\xbf", true, "U+CFFF"},
    {"\xed\x9f\xbf", true, "U+D7FF"},
    {"\xed\xa0\x80", false, "the first surrogate"},
    {"\xed\xbf\xbf", false, "the last surrogate"},
    {"\xee\x80\x80", true, "U+E000"},
    {"\xef\xbb\xbf", true, "the byte order mark"},
    {"\xef\xbf\xbd", true, "U+FFFD"},
    {"\xef\xbf\xbf", true, "U+FFFF"},
    {"\xf0\x8f\xbf\xbf", false, "U+FFFF, overlong"},
    {"\xf0\x90\x80\x80", true, "U+10000"},
    {"\xf3\xbf\xbf\xbf", true, "U+FFFFF"},
    {"\xf4\x8f\xbf\xbf", true, "U+10FFFF"},
    {"\xf4\x90\x80\x80", false, "U+110000"},
    {"\xf5\x80\x80\x80", false, "a first byte too high"},
    {"\xf8\x88\x80\x80\x80", false, "five bytes"},
    {"\xfc\x84\x80\x80\x80\x80", false, "six bytes"},
    {"\xfe", false, "FE"},
    {"\xff", false, "FF"},
    {"\xf0\x90\x80\x7f", false, "a fourth byte too low"},
    {"\xf0\x90\x80\xc0", false, "a fourth byte too high"},
    {"\xf0\x90\x7f\x80", false, "a third byte too low"},
    {"\xf0\x90\xc0\x80", false, "a third byte too high"},
    {"\xc3", false, "the first of two bytes"},
    {"\xe2\x82", false, "the first two of three bytes"},
    {"\xf0\x9f\x94", false, "the first three of four bytes"},
    {"\xed\xa0\xbd\xed\xb4\x92", false, "a pair of surrogates"},
};

TEST(every_boundary_is_where_the_standard_has_it)
{
    for (size_t i = 0; i < LENGTH(BOUNDARIES); i++)
        if (utf8_is_clean(slice_of(BOUNDARIES[i].bytes)) != BOUNDARIES[i].clean)
            fail_msg("%s", BOUNDARIES[i].what);
}

TEST(text_around_a_sequence_does_not_hide_it)
{
    for (size_t i = 0; i < LENGTH(BOUNDARIES); i++) {
        char text[32] = "ab\xe2\x82\xac";
        strcat(text, BOUNDARIES[i].bytes);
        strcat(text, "\xf0\x9f\x94\x92z");
        if (utf8_is_clean(slice_of(text)) != BOUNDARIES[i].clean)
            fail_msg("%s, in the midst", BOUNDARIES[i].what);
    }
}

TEST(a_nul_is_no_text)
{
    assert_false(utf8_is_clean((struct slice){"\0", 1}));
    assert_false(utf8_is_clean((struct slice){"a\0b", 3}));
    assert_true(utf8_is_clean(slice_of(NULL)));
}

TEST(bytes_after_the_slice_do_not_count)
{
    assert_false(utf8_is_clean((struct slice){"\xc3\xa9", 1}));
    assert_false(utf8_is_clean((struct slice){"\xe2\x82\xac", 2}));
    assert_false(utf8_is_clean((struct slice){"\xf0\x9f\x94\x92", 3}));
    assert_true(utf8_is_clean((struct slice){"a\xff", 1}));
}

/* Another decoder, by RFC 3629's bit patterns: the length of a sequence and its code point, or 0.
 */
static size_t decode(const unsigned char *bytes, size_t length, uint32_t *ret_point)
{
    static const uint32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t count = bytes[0] < 0x80             ? 1
                   : (bytes[0] & 0xe0) == 0xc0 ? 2
                   : (bytes[0] & 0xf0) == 0xe0 ? 3
                   : (bytes[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (count == 0 || count > length)
        return 0;
    uint32_t point = count == 1 ? bytes[0] : bytes[0] & (0x7fu >> count);
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    *ret_point = point;
    return point < SMALLEST[count] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)
               ? 0
               : count;
}

static bool is_clean(const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        uint32_t point = 0;
        size_t count = decode(bytes, length, &point);
        if (count == 0 || point < 0x20 || (point >= 0x7f && point <= 0x9f))
            return false;
        bytes += count;
        length -= count;
    }
    return true;
}

static void compare(const unsigned char *bytes, size_t length)
{
    if (utf8_is_clean((struct slice){(const char *)bytes, length}) != is_clean(bytes, length))
        fail_msg("%zu bytes, %02x %02x %02x %02x", length, bytes[0], bytes[1], bytes[2], bytes[3]);
}

TEST(all_sequences_of_up_to_three_bytes_are_judged_alike_by_another_decoder)
{
    for (size_t length = 1; length <= 3; length++) {
        for (uint32_t number = 0; number < UINT32_C(1) << 8 * length; number++) {
            const unsigned char bytes[4] = {(unsigned char)number, (unsigned char)(number >> 8),
                                            (unsigned char)(number >> 16)};
            compare(bytes, length);
        }
    }
}

TEST(sequences_of_four_bytes_are_judged_alike_too)
{
    static const unsigned char ENDS[] = {0x00, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f,
                                         0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xf0, 0xff};
    for (unsigned first = 0xe0; first <= 0xff; first++)
        for (unsigned second = 0; second <= 0xff; second++)
            for (size_t i = 0; i < LENGTH(ENDS) * LENGTH(ENDS); i++) {
                const unsigned char bytes[4] = {(unsigned char)first, (unsigned char)second,
                                                ENDS[i / LENGTH(ENDS)], ENDS[i % LENGTH(ENDS)]};
                compare(bytes, sizeof bytes);
            }
}

// NOLINTBEGIN(misc-misleading-bidirectional): that is what these are about
static const struct shown {
    const char *text, *shown;
} SHOWN[] = {
    {"", ""},
    {"pay/roll", "pay/roll"},
    {"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x94\x92", "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x94\x92"},
    {"a\nb\x7f"
     "c",
     "a\\u000ab\\u007fc"},
    {"\xc2\x85\xc2\x9b", "\\u0085\\u009b"},
    {"a\xff\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xe2\x80\xae"
     "gnp.exe",
     "\\u202egnp.exe"},
    {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
    {"\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad", "\\u202a\\u202b\\u202c\\u202d"},
    {"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u2066\\u2067\\u2068\\u2069"},
    {"\xe2\x80\x8b\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f", "\\u200b\\u200d\\u200e\\u200f"},
    {"\xd8\x9c\xef\xbb\xbf\xc2\xad", "\\u061c\\ufeff\\u00ad"},
    {"\xf3\xa0\x80\x81\xf0\x9d\x85\xb3", "\\udb40\\udc01\\ud834\\udd73"},
    {"\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f\xe2\x81\xb0",
     "\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f\xe2\x81\xb0"},
};

TEST(invisible_characters_are_shown)
{
    for (size_t i = 0; i < LENGTH(SHOWN); i++) {
        char shown[64];
        utf8_show_all(slice_of(SHOWN[i].text), shown, sizeof shown);
        assert_string_equal(shown, SHOWN[i].shown);
    }
}

TEST(text_without_room_is_cut_behind_a_whole_character)
{
    static const char TEXT[] = "ab\xc3\xa9\xe2\x80\xae"
                               "c";
    static const char *const CUT[] = {"", "a", "ab", "ab", "ab\xc3\xa9"};
    for (size_t i = 0; i < LENGTH(CUT); i++) {
        char shown[16];
        utf8_show_all(slice_of(TEXT), shown, i + 1);
        assert_string_equal(shown, CUT[i]);
    }
}

// NOLINTEND(misc-misleading-bidirectional)
