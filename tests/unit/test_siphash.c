#include "base/siphash.h"
#include "tests/support/cmocka.h"

/* The vectors that came with the paper: the key is 00 01 02 ... 0f, the text 00 01 02 ... */
TEST(hash_is_siphash_2_4)
{
    static const struct {
        size_t length;
        uint64_t hash;
    } VECTORS[] = {{0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
                   {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
                   {15, UINT64_C(0xa129ca6149be45e5)}, {16, UINT64_C(0x3f2acc7f57c29bdb)}};
    const struct siphash_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    char text[16];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    for (size_t i = 0; i < sizeof VECTORS / sizeof VECTORS[0]; i++)
        assert_true(siphash(&key, (struct slice){text, VECTORS[i].length}) == VECTORS[i].hash);
}
