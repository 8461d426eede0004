#include "api/http/target.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

static void assert_slice(const char *what, struct slice slice, const char *expected)
{
    if (expected ? !slice.bytes || !slice_equals(slice, expected) : slice.bytes || slice.length)
        fail_msg("%s: \"%.*s\" is not \"%s\"", what, (int)slice.length, slice.bytes, expected);
}

static const struct split {
    const char *target;
    const char *path;
    const char *query; /* NULL: absent */
} SPLITS[] = {
    {"/", "/", NULL},
    {"/locks/a", "/locks/a", NULL},
    {"/locks/a?", "/locks/a", ""},
    {"/locks/a?ttl=5s", "/locks/a", "ttl=5s"},
    {"/locks/a?b?c", "/locks/a", "b?c"},
    {"/locks/a%2Fb%3F?x=%3F", "/locks/a%2Fb%3F", "x=%3F"},
    {"//locks", "//locks", NULL},
    {"/a;b#c&d=e?f", "/a;b#c&d=e", "f"},
    {"/http://h/a", "/http://h/a", NULL},
    {"/a?http://h/b", "/a", "http://h/b"},
    {"http://host/locks/a", "/locks/a", NULL},
    {"http://host:7420/locks/a?ttl=5s", "/locks/a", "ttl=5s"},
    {"HTTP://HOST/locks/a", "/locks/a", NULL},
    {"https://me@[::1]:1/locks/a?b", "/locks/a", "b"},
    {"http:///locks", "/locks", NULL},
    {"http://host", "/", NULL},
    {"http://host?", "/", ""},
    {"http://host?a=/b", "/", "a=/b"},
    {"http://host#f/a", "", NULL},
    {"http:/host/a", "", NULL},
    {"ftp://host/a", "", NULL},
    {"httpx://host/a", "", NULL},
    {"host:443", "", NULL},
    {"*", "", NULL},
    {"*?a=b", "", "a=b"},
    {"?a=b", "", "a=b"},
    {"locks/a", "", NULL},
    {"", "", NULL},
};

TEST(a_target_has_a_path_and_a_query)
{
    for (size_t i = 0; i < LENGTH(SPLITS); i++) {
        struct slice path, query;
        target_split(SPLITS[i].target, &path, &query);
        assert_slice(SPLITS[i].target, path, SPLITS[i].path);
        assert_slice(SPLITS[i].target, query, SPLITS[i].query);
    }
}

static const struct decoding {
    const char *text;
    const char *bytes; /* NULL: refused */
} DECODINGS[] = {
    {"", ""},      {"abc", "abc"},   {"%41", "A"},  {"a%2Fb", "a/b"},       {"%2f", "/"},
    {"%25", "%"},  {"%2541", "%41"}, {"+", "+"},    {"%C3%a9", "\xc3\xa9"}, {"%ff", "\xff"},
    {"%", NULL},   {"%4", NULL},     {"a%", NULL},  {"a%4", NULL},          {"%4g", NULL},
    {"%g4", NULL}, {"%%41", NULL},   {"% 4", NULL}, {"%-1", NULL},          {"%@0", NULL},
    {"%:0", NULL}, {"%`0", NULL},    {"%G0", NULL}, {"%/0", NULL},
};

TEST(percent_signs_are_decoded)
{
    for (size_t i = 0; i < LENGTH(DECODINGS); i++) {
        char bytes[16];
        struct slice decoded = {bytes, 99};
        int result = percent_decode(slice_of(DECODINGS[i].text), bytes, &decoded.length);
        if (DECODINGS[i].bytes) {
            assert_int_equal(result, 0);
            assert_slice(DECODINGS[i].text, decoded, DECODINGS[i].bytes);
        } else if (result != -EINVAL || decoded.length != 99) {
            fail_msg("\"%s\" is decoded", DECODINGS[i].text);
        }
    }
}

TEST(decoding_stops_at_the_end_of_the_slice)
{
    char bytes[4];
    size_t length = 0;
    assert_int_equal(percent_decode((struct slice){"%41", 2}, bytes, &length), -EINVAL);
    assert_int_equal(percent_decode((struct slice){"a%41", 1}, bytes, &length), 0);
    assert_int_equal(length, 1);
    assert_int_equal(percent_decode(slice_of(NULL), bytes, &length), 0);
    assert_int_equal(length, 0);
}

TEST(every_byte_is_encoded_and_decoded)
{
    static const char UNRESERVED[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (int c = 0; c < 256; c++) {
        const char byte = (char)c;
        char text[4], back[3];
        size_t length = 0, written = percent_encode((struct slice){&byte, 1}, text);
        assert_int_equal(written, strlen(text));
        assert_int_equal(written, memchr(UNRESERVED, c, sizeof UNRESERVED - 1) ? 1 : 3);
        assert_int_equal(percent_decode(slice_of(text), back, &length), 0);
        assert_int_equal(length, 1);
        assert_int_equal(back[0], byte);
    }
}

TEST(a_text_is_encoded)
{
    char text[40];
    assert_int_equal(percent_encode(slice_of("a/b c\xc3\xa9%"), text), 18);
    assert_string_equal(text, "a%2Fb%20c%C3%A9%25");
    assert_int_equal(percent_encode(slice_of(""), text), 0);
    assert_string_equal(text, "");
}

static const struct query {
    const char *text;
    struct {
        const char *name;
        const char *value;
    } pairs[4];
} QUERIES[] = {
    {"", {{NULL, NULL}}},
    {"&", {{NULL, NULL}}},
    {"&&&", {{NULL, NULL}}},
    {"a=1", {{"a", "1"}}},
    {"a=1&b=2", {{"a", "1"}, {"b", "2"}}},
    {"&&a=1&&b=2&", {{"a", "1"}, {"b", "2"}}},
    {"a", {{"a", NULL}}},
    {"a&b", {{"a", NULL}, {"b", NULL}}},
    {"a=", {{"a", ""}}},
    {"a=&b=", {{"a", ""}, {"b", ""}}},
    {"=1", {{"", "1"}}},
    {"=", {{"", ""}}},
    {"a=b=c", {{"a", "b=c"}}},
    {"a==", {{"a", "="}}},
    {"a=1;b=2", {{"a", "1;b=2"}}},
    {"a%3D1=%26", {{"a%3D1", "%26"}}},
    {"a=1&a=2&a=1", {{"a", "1"}, {"a", "2"}, {"a", "1"}}},
};

TEST(a_query_is_a_sequence_of_names_and_values)
{
    for (size_t i = 0; i < LENGTH(QUERIES); i++) {
        struct slice query = slice_of(QUERIES[i].text), name, value;
        for (size_t j = 0; QUERIES[i].pairs[j].name; j++) {
            assert_true(query_next(&query, &name, &value));
            assert_slice(QUERIES[i].text, name, QUERIES[i].pairs[j].name);
            assert_slice(QUERIES[i].text, value, QUERIES[i].pairs[j].value);
        }
        assert_false(query_next(&query, &name, &value));
        assert_false(query_next(&query, &name, &value));
    }
}
