#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void random_bytes(void *buffer, size_t length)
{
    unsigned char *next = buffer;
    while (length > 0) {
        ssize_t got = getrandom(next, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        next += got;
        length -= (size_t)got;
    }
}

void random_pool_take(struct random_pool *pool, void *buffer, size_t length)
{
    if (pool->left < length) {
        random_bytes(pool->bytes, sizeof pool->bytes);
        pool->left = sizeof pool->bytes;
    }
    pool->left -= length;
    memcpy(buffer, pool->bytes + pool->left, length);
    explicit_bzero(pool->bytes + pool->left, length);
}

uint32_t random_below(uint32_t bound)
{
    uint32_t number;
    random_bytes(&number, sizeof number);
    return number % bound;
}
