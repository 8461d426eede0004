#include "locks/types/packed.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* IEEE 754, the lowest byte first. */
char *packed_put(char *at, double number)
{
    uint64_t bits;
    static_assert(sizeof bits == sizeof number && sizeof bits == PACKED_NUMBER,
                  "a number of Lua has 64 bits");
    memcpy(&bits, &number, sizeof bits);
    for (size_t i = 0; i < sizeof bits; i++, bits >>= 8)
        *at++ = (char)(bits & 0xff);
    return at;
}
