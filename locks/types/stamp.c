#include "locks/types/stamp.h"

#include <assert.h>

/* As `<d` of Lua's struct: IEEE 754, the lowest byte first. */
static char *stamp_put(char *at, double number)
{
    uint64_t bits;
    static_assert(sizeof bits == sizeof number, "a number of Lua has 64 bits");
    memcpy(&bits, &number, sizeof bits);
    for (size_t i = 0; i < sizeof bits; i++, bits >>= 8)
        *at++ = (char)(bits & 0xff);
    return at;
}

struct slice stamp_placeholder(void)
{
    static const char PLACEHOLDER[STORE_STAMP_LENGTH] = {0};
    return (struct slice){PLACEHOLDER, sizeof PLACEHOLDER};
}

void stamp_write(const struct stamp *stamp, char bytes[STORE_STAMP_LENGTH])
{
    bytes = stamp_put(bytes, stamp->retention);
    bytes = stamp_put(bytes, stamp->latest);
    bytes = stamp_put(bytes, stamp->opens);
    bytes = stamp_put(bytes, stamp->floor);
    bytes = stamp_put(bytes, stamp->level);
    memcpy(bytes, stamp->era, sizeof stamp->era);
    memcpy(bytes + sizeof stamp->era, stamp->tag, sizeof stamp->tag);
}
