#include "base/random.h"
#include "locks/types/name.h"
#include "tests/support/cmocka.h"

#include <string.h>

TEST(a_name_has_1_to_255_bytes)
{
    char text[NAME_LENGTH + 2];
    memset(text, 'n', sizeof text);
    for (size_t length = 0; length < sizeof text; length++)
        assert_int_equal(name_is_valid((struct slice){text, length}), length >= 1 && length <= 255);
    assert_false(name_is_valid(slice_of(NULL)));
}

TEST(a_name_is_clean_text)
{
    static const char *const GOOD[] = {" ",  "/", "...", "a/b",      "a/.b/c..", "..a/b.",
                                       "a.", "%", "{}",  "\xc3\xa9", "*",        "\"\\"};
    static const char *const BAD[] = {"\n", "a\tb", "\x7f", "\xc2\x85", "\xff",  "\xc0\xaf", ".",
                                      "..", "a/.",  "./a",  "a/../b",   "a//..", "/..",      "../"};
    for (size_t i = 0; i < LENGTH(GOOD); i++)
        assert_true(name_is_valid(slice_of(GOOD[i])));
    for (size_t i = 0; i < LENGTH(BAD); i++)
        assert_false(name_is_valid(slice_of(BAD[i])));
    assert_false(name_is_valid((struct slice){"a\0b", 3}));
}

TEST(a_key_prefix_is_clean_text_without_braces)
{
    static const char *const GOOD[] = {"", "baton:", "%", "*", "\xc3\xa9"};
    static const char *const BAD[] = {"{", "}", "a{b", "a}", "\n", "\xff"};
    char text[KEY_PREFIX_LENGTH + 2];
    memset(text, 'p', sizeof text);
    assert_true(key_prefix_is_valid((struct slice){text, 64}));
    assert_false(key_prefix_is_valid((struct slice){text, 65}));
    for (size_t i = 0; i < LENGTH(GOOD); i++)
        assert_true(key_prefix_is_valid(slice_of(GOOD[i])));
    for (size_t i = 0; i < LENGTH(BAD); i++)
        assert_false(key_prefix_is_valid(slice_of(BAD[i])));
}

static const struct mapping {
    const char *prefix;
    const char *name;
    const char *key;
} MAPPINGS[] = {
    {"baton:", "deploy", "baton:{deploy}"},
    {"", "a", "{a}"},
    {"b", "{", "b{%7B}"},
    {"b", "}", "b{%7D}"},
    {"b", "%", "b{%25}"},
    {"b", "{}", "b{%7B%7D}"},
    {"b", "a}b{c%d", "b{a%7Db%7Bc%25d}"},
    {"b", "%7B", "b{%257B}"},
    {"b", "%25", "b{%2525}"},
    {"%:", "a:holds", "%:{a:holds}"},
    {"b", "\xc3\xa9/ \"\\", "b{\xc3\xa9/ \"\\}"},
};

TEST(a_name_becomes_the_hash_tag_of_its_key_and_back)
{
    for (size_t i = 0; i < LENGTH(MAPPINGS); i++) {
        char key[KEY_LENGTH], name[NAME_LENGTH];
        struct slice prefix = slice_of(MAPPINGS[i].prefix);
        struct slice text = {key, name_to_key(prefix, slice_of(MAPPINGS[i].name), key)};
        assert_true(slice_equals(text, MAPPINGS[i].key));
        struct slice back = {name, name_from_key(prefix, text, name)};
        assert_true(slice_equals(back, MAPPINGS[i].name));
    }
}

TEST(the_longest_key_fits)
{
    char prefix[KEY_PREFIX_LENGTH], name[NAME_LENGTH], key[KEY_LENGTH], back[NAME_LENGTH];
    char pattern[KEY_PATTERN_LENGTH];
    memset(prefix, '*', sizeof prefix);
    memset(name, '%', sizeof name);
    struct slice prefix_text = {prefix, sizeof prefix}, name_text = {name, sizeof name};
    assert_int_equal(name_to_key(prefix_text, name_text, key), KEY_LENGTH);
    assert_int_equal(name_from_key(prefix_text, (struct slice){key, KEY_LENGTH}, back), 255);
    assert_memory_equal(back, name, sizeof name);
    memset(name, '*', sizeof name);
    assert_int_equal(name_to_pattern(prefix_text, name_text, pattern), 2 * (64 + 255) + 1 + 2);
}

TEST(keys_of_others_have_no_name)
{
    static const char *const OTHERS[] = {
        "",        "b",           "b:",        "b:{",     "b:}",        "b:{}",
        "b:{a",    "b:a}",        "b:a",       "c:{a}",   "B:{a}",      "xb:{a}",
        "b:x{a}",  "b:{a}:holds", "b:{a}x",    "b:{%}",   "b:{%2}",     "b:{a%2}5}",
        "b:{%7}",  "b:{%41}",     "b:{%7b}",   "b:{%7d}", "b:{%2525%}", "b:{%00}",
        "b:{a}b}", "b:{a{b}",     "b:{a}:{b}", "b:{\n}",  "b:{\xff}",
    };
    char name[NAME_LENGTH];
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        if (name_from_key(slice_of("b:"), slice_of(OTHERS[i]), name) != 0)
            fail_msg("%s has a name", OTHERS[i]);
    assert_int_equal(name_from_key(slice_of("b:"), (struct slice){"b:{a\0}", 6}, name), 0);
}

TEST(a_key_that_is_too_long_has_no_name)
{
    char key[NAME_LENGTH + 3], name[NAME_LENGTH];
    memset(key, 'a', sizeof key);
    key[0] = '{';
    key[NAME_LENGTH + 1] = key[NAME_LENGTH + 2] = '}';
    assert_int_equal(name_from_key(slice_of(""), (struct slice){key, NAME_LENGTH + 2}, name), 255);
    key[NAME_LENGTH + 1] = 'a';
    assert_int_equal(name_from_key(slice_of(""), (struct slice){key, NAME_LENGTH + 3}, name), 0);
}

/* A valid name of up to `longest` bytes, rich in what has to be escaped. */
static size_t random_name(size_t longest, char name[NAME_LENGTH])
{
    static const char *const PIECES[] = {"%", "{", "}", "7B", "25", "a", ":", "\xc3\xa9", "*", "["};
    size_t length = 0, wanted = 1 + random_below((uint32_t)longest);
    for (;;) {
        const char *piece = PIECES[random_below(LENGTH(PIECES))];
        if (length + strlen(piece) > wanted)
            break;
        memcpy(name + length, piece, strlen(piece));
        length += strlen(piece);
    }
    if (length == 0)
        name[length++] = 'x';
    return length;
}

TEST(random_names_come_back_from_their_keys)
{
    for (int i = 0; i < 3000; i++) {
        char name[NAME_LENGTH], key[KEY_LENGTH], back[NAME_LENGTH];
        size_t length = random_name(NAME_LENGTH, name);
        struct slice prefix = slice_of(i % 2 ? "baton:" : "");
        size_t key_length = name_to_key(prefix, (struct slice){name, length}, key);
        assert_null(memchr(key + prefix.length + 1, '{', key_length - prefix.length - 1));
        assert_ptr_equal(memchr(key, '}', key_length), key + key_length - 1);
        assert_int_equal(name_from_key(prefix, (struct slice){key, key_length}, back), length);
        assert_memory_equal(back, name, length);
    }
}

/* As Redis matches a pattern, as far as name_to_pattern uses it. */
static bool matches(struct slice pattern, struct slice key)
{
    while (pattern.length > 0) {
        if (pattern.bytes[0] == '*') {
            for (size_t skip = 0; skip <= key.length; skip++)
                if (matches((struct slice){pattern.bytes + 1, pattern.length - 1},
                            (struct slice){key.bytes + skip, key.length - skip}))
                    return true;
            return false;
        }
        if (strchr("?[", pattern.bytes[0]))
            return false; /* none of it should be there unescaped */
        size_t skip = pattern.bytes[0] == '\\' ? 1 : 0;
        if (pattern.length <= skip || key.length == 0 || pattern.bytes[skip] != key.bytes[0])
            return false;
        pattern = (struct slice){pattern.bytes + skip + 1, pattern.length - skip - 1};
        key = (struct slice){key.bytes + 1, key.length - 1};
    }
    return key.length == 0;
}

static const struct pattern {
    const char *prefix;
    const char *beginning;
    const char *pattern;
} PATTERNS[] = {
    {"baton:", "", "baton:{*}"}, {"baton:", "job/", "baton:{job/*}"},
    {"", "*?", "{\\*\\?*}"},     {"a*[b]:", "[x-z^\\", "a\\*\\[b\\]:{\\[x\\-z\\^\\\\*}"},
    {"", "%{", "{%25%7B*}"},
};

TEST(a_pattern_escapes_what_redis_would_interpret)
{
    for (size_t i = 0; i < LENGTH(PATTERNS); i++) {
        char pattern[KEY_PATTERN_LENGTH];
        size_t length =
            name_to_pattern(slice_of(PATTERNS[i].prefix), slice_of(PATTERNS[i].beginning), pattern);
        assert_true(slice_equals((struct slice){pattern, length}, PATTERNS[i].pattern));
    }
}

TEST(a_pattern_finds_just_the_names_that_begin_so)
{
    size_t found = 0;
    for (int i = 0; i < 3000; i++) {
        char name[NAME_LENGTH], beginning[NAME_LENGTH], key[KEY_LENGTH],
            pattern[KEY_PATTERN_LENGTH];
        size_t name_length = random_name(12, name), length = random_name(2, beginning);
        bool begins = length <= name_length && memcmp(name, beginning, length) == 0;
        struct slice prefix = slice_of("b*:");
        size_t key_length = name_to_key(prefix, (struct slice){name, name_length}, key);
        size_t pattern_length = name_to_pattern(prefix, (struct slice){beginning, length}, pattern);
        struct slice whole = {pattern, pattern_length};
        assert_int_equal(matches(whole, (struct slice){key, key_length}), begins);
        found += begins;
    }
    assert_true(found > 0 && found < 3000);
}
