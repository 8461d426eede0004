#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
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

uint32_t random_below(uint32_t bound)
{
    uint32_t number;
    random_bytes(&number, sizeof number);
    return number % bound;
}
