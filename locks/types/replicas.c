#include "locks/types/replicas.h"

#include "redis/types/confirm.h"

static const char REPLICAS[] = "replicas:";

bool replicas_parse(struct slice text, int64_t *ret)
{
    const size_t length = sizeof REPLICAS - 1;
    if (slice_equals(text, "none")) {
        *ret = 0;
        return true;
    }
    if (text.length != length + 1 || memcmp(text.bytes, REPLICAS, length) != 0)
        return false;
    int64_t number = text.bytes[length] - '0';
    if (number < 1 || number > STORE_REPLICAS_MOST)
        return false;
    *ret = number;
    return true;
}
