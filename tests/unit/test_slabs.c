/* Blocks of slabs: whole, apart from each other, zero when taken, and given back to the heap. */
#include "base/random.h"
#include "base/slabs.h"
#include "tests/support/cmocka.h"

#include <stdint.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum { LIMIT = 1 << 20, BLOCKS = 500, STEPS = 20000 };

/* A block of the test, filled with one byte that tells it from the others. */
struct kept {
    unsigned char *block;
    size_t size;
    unsigned char byte;
};

static void assert_filled(const struct kept *kept)
{
    for (size_t i = 0; i < kept->size; i++)
        assert_int_equal(kept->block[i], kept->byte);
}

static void take(struct slabs *slabs, struct kept *kept, size_t size, unsigned char byte)
{
    *kept = (struct kept){slabs_take(slabs, size), size, 0};
    assert_non_null(kept->block);
    assert_int_equal((uintptr_t)kept->block % _Alignof(max_align_t), 0);
    assert_filled(kept);
    kept->byte = byte;
    memset(kept->block, byte, size);
}

static void give_back(struct slabs *slabs, struct kept *kept)
{
    assert_filled(kept);
    slabs_give_back(slabs, kept->block, kept->size);
    kept->block = NULL;
}

TEST(blocks_in_use_keep_their_content)
{
    struct slabs slabs = {.limit = LIMIT};
    struct kept kept[BLOCKS] = {{0}};
    for (int i = 0; i < STEPS; i++) {
        struct kept *chosen = &kept[random_below(BLOCKS)];
        if (chosen->block)
            give_back(&slabs, chosen);
        else
            take(&slabs, chosen, 1 + random_below(SLABS_LARGEST), (unsigned char)i);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (kept[i].block)
            give_back(&slabs, &kept[i]);
    slabs_close(&slabs);
    assert_int_equal(slabs.bytes, 0);
}

TEST(empty_slabs_go_back_except_one_of_each_size)
{
    struct slabs slabs = {.limit = LIMIT};
    struct kept kept[BLOCKS];
    take(&slabs, &kept[0], 100, 1);
    size_t one = slabs.bytes;
    for (int i = 1; i < BLOCKS; i++)
        take(&slabs, &kept[i], 100, 1);
    assert_true(slabs.bytes > 2 * one);
    for (int i = 0; i < BLOCKS; i++)
        give_back(&slabs, &kept[i]);
    assert_int_equal(slabs.bytes, one);
    slabs_close(&slabs);
}

TEST(limit_refuses_another_slab)
{
    struct slabs slabs = {.limit = LIMIT};
    struct kept kept[LIMIT / SLABS_LARGEST] = {{0}};
    size_t count = 0;
    for (void *block; count < LIMIT / SLABS_LARGEST && (block = slabs_take(&slabs, SLABS_LARGEST));
         count++)
        kept[count] = (struct kept){block, SLABS_LARGEST, 0};
    assert_in_range(count, LIMIT / SLABS_LARGEST * 9 / 10, LIMIT / SLABS_LARGEST);
    assert_true(slabs.bytes <= LIMIT);
    assert_null(slabs_take(&slabs, 1));
    give_back(&slabs, &kept[--count]);
    take(&slabs, &kept[count++], SLABS_LARGEST, 0);
    while (count > 0)
        give_back(&slabs, &kept[--count]);
    slabs_close(&slabs);
}

TEST(given_back_block_is_wiped)
{
    struct slabs slabs = {.limit = LIMIT};
    struct kept kept;
    take(&slabs, &kept, 64, 0xff);
    unsigned char *block = kept.block;
    give_back(&slabs, &kept);
#if defined __SANITIZE_ADDRESS__
    assert_true(__asan_address_is_poisoned(block + sizeof(void *)));
    __asan_unpoison_memory_region(block, 64);
#endif
    for (size_t i = sizeof(void *); i < 64; i++)
        assert_int_equal(block[i], 0);
    slabs_close(&slabs);
}
