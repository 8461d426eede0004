#include "locks/types/packed.h"

#include "redis/types/value.h"

#include <assert.h>

static_assert(sizeof(double) == PACKED_NUMBER && sizeof(uint64_t) == PACKED_NUMBER,
              "a number of Lua has 64 bits");

/* IEEE 754, the lowest byte first. */
char *packed_put(char *at, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (size_t i = 0; i < sizeof bits; i++, bits >>= 8)
        *at++ = (char)(bits & 0xff);
    return at;
}

static struct slice packed_behind(struct slice rest, size_t taken)
{
    return (struct slice){rest.bytes + taken, rest.length - taken};
}

bool packed_take(struct slice *rest, int64_t *ret)
{
    uint64_t bits = 0;
    double number;
    if (rest->length < sizeof bits)
        return false;
    for (size_t i = sizeof bits; i-- > 0;)
        bits = bits << 8 | (unsigned char)rest->bytes[i];
    memcpy(&number, &bits, sizeof number);
    /* This also refuses NaN. */
    if (!(number >= -(double)VALUE_HIGHEST && number <= (double)VALUE_HIGHEST) ||
        (double)(int64_t)number != number)
        return false;
    *ret = (int64_t)number;
    *rest = packed_behind(*rest, sizeof bits);
    return true;
}

bool packed_take_text(struct slice *rest, struct slice *ret)
{
    const char *end = rest->length > 0 ? memchr(rest->bytes, '\0', rest->length) : NULL;
    if (!end)
        return false;
    *ret = (struct slice){rest->bytes, (size_t)(end - rest->bytes)};
    *rest = packed_behind(*rest, ret->length + 1);
    return true;
}
