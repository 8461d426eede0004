#include "base/random.h"
#include "tests/support/cmocka.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 10000, TOKEN_BYTES = 16 };

static int compare(const void *left, const void *right)
{
    return memcmp(left, right, TOKEN_BYTES);
}

TEST(no_token_comes_twice)
{
    static unsigned char tokens[TOKENS][TOKEN_BYTES];
    struct random_pool pool = {.left = 0};
    for (size_t i = 0; i < TOKENS; i++)
        random_pool_take(&pool, tokens[i], TOKEN_BYTES);
    qsort(tokens, TOKENS, TOKEN_BYTES, compare);
    for (size_t i = 1; i < TOKENS; i++)
        assert_memory_not_equal(tokens[i - 1], tokens[i], TOKEN_BYTES);
}

static bool is_wiped(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

TEST(taken_bytes_are_wiped_from_the_pool)
{
    static const size_t LENGTHS[] = {16, 1, 7, 16, 900, 100, 1024, 1024, 12};
    struct random_pool pool = {.left = 0};
    unsigned char taken[sizeof pool.bytes];
    for (size_t i = 0; i < LENGTH(LENGTHS); i++) {
        random_pool_take(&pool, taken, LENGTHS[i]);
        assert_true(is_wiped(pool.bytes + pool.left, sizeof pool.bytes - pool.left));
        assert_false(LENGTHS[i] >= 7 && is_wiped(taken, LENGTHS[i]));
    }
}

TEST(the_pool_is_filled_when_it_has_too_little_left)
{
    struct random_pool pool = {.left = 0};
    unsigned char taken[sizeof pool.bytes];
    random_pool_take(&pool, taken, 1000);
    assert_int_equal(pool.left, sizeof pool.bytes - 1000);
    random_pool_take(&pool, taken, 24); /* all of it */
    assert_int_equal(pool.left, 0);
    random_pool_take(&pool, taken, 1000);
    assert_int_equal(pool.left, sizeof pool.bytes - 1000);
    random_pool_take(&pool, taken, 25); /* one more than there is */
    assert_int_equal(pool.left, sizeof pool.bytes - 25);
}

TEST(take_writes_no_more_than_asked_for)
{
    struct random_pool pool = {.left = 0};
    for (size_t length = 0; length < 40; length++) {
        unsigned char bytes[42];
        memset(bytes, 0x5a, sizeof bytes);
        random_pool_take(&pool, bytes, length);
        assert_int_equal(bytes[length], 0x5a);
        memset(bytes, 0x5a, sizeof bytes);
        random_bytes(bytes, length);
        assert_int_equal(bytes[length], 0x5a);
    }
}

/* 800,000 bits: half of them set, give or take 4,500, which is ten standard deviations. */
TEST(as_many_bits_are_set_as_not)
{
    unsigned char bytes[100000];
    long set = 0;
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        set += __builtin_popcount(bytes[i]);
    assert_in_range(set, 400000 - 4500, 400000 + 4500);
}

TEST(a_number_stays_below_its_bound)
{
    bool seen[10] = {false};
    for (int i = 0; i < 1000; i++) {
        uint32_t number = random_below(10);
        assert_true(number < 10);
        seen[number] = true;
        assert_int_equal(random_below(1), 0);
    }
    for (size_t i = 0; i < LENGTH(seen); i++)
        assert_true(seen[i]); /* each is missed once in 10^45 runs */
}
