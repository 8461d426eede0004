#include "locks/types/token.h"
#include "tests/support/cmocka.h"

#include <string.h>

TEST(a_token_has_22_to_128_characters)
{
    char text[TOKEN_LONGEST + 20];
    memset(text, 'a', sizeof text);
    for (size_t length = 0; length < sizeof text; length++)
        assert_int_equal(token_is_valid((struct slice){text, length}),
                         length >= 22 && length <= 128);
    assert_false(token_is_valid(slice_of(NULL)));
}

TEST(characters_are_of_the_alphabet_of_64)
{
    static const char ALPHABET[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    for (int c = 0; c < 256; c++) {
        for (size_t place = 0; place < TOKEN_SHORTEST; place++) {
            char text[] = "aaaaaaaaaaaaaaaaaaaaaa";
            text[place] = (char)c;
            bool known = memchr(ALPHABET, c, 64) != NULL;
            assert_int_equal(token_is_valid((struct slice){text, TOKEN_SHORTEST}), known);
        }
    }
}

TEST(a_made_token_is_valid_short_and_new)
{
    struct random_pool pool = {.left = 0};
    char before[TOKEN_SHORTEST + 1] = "";
    for (int i = 0; i < 1000; i++) {
        char token[TOKEN_SHORTEST + 1];
        token_make(&pool, token);
        assert_int_equal(strlen(token), TOKEN_SHORTEST);
        assert_true(token_is_valid(slice_of(token)));
        assert_string_not_equal(token, before);
        memcpy(before, token, sizeof before);
    }
}
